/** What clients ask of one region. */
export interface Load {
  name: string;
  callsPerSecond: number;
  /** Of each answer; none of a whole one. */
  chunks: number;
  /** From one chunk to the next; of a whole answer, what the engine takes for it, on average. */
  everySeconds: number;
}

export const WHOLE_ANSWERS: Load = { name: 'whole answers', callsPerSecond: 5_000, chunks: 0, everySeconds: 1 };
export const STREAMS: Load = {
  name: 'streams of 200 chunks in 4 s',
  callsPerSecond: 5_000,
  chunks: 200,
  everySeconds: 0.02,
};

/** Streams that are open on average, without those that wait for their first chunk. */
export const openStreams = ({ callsPerSecond, chunks, everySeconds }: Load): number =>
  callsPerSecond * chunks * everySeconds;
