/** How an answer ended: by itself or at a stop string, at its longest, or because its client left. */
export type FinishReason = 'stop' | 'length' | 'abort';
