/** Which state of a key and its workspace is the latest. Rises with every change of either. */
export interface KeyGeneration {
  keyId: string;
  workspaceId: string;
  generation: number;
  /** Of a change of the key's status: what it is now. */
  status?: 'active' | 'blocked' | 'revoked';
}
