/** Which state of a key and its workspace is the latest. Rises with every change of either. */
export interface KeyGeneration {
  keyId: string;
  workspaceId: string;
  generation: number;
  /** New status, after a change of the key's status. */
  status?: 'active' | 'blocked' | 'revoked';
}
