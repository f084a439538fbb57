/** An answer, read whole. */
export interface Answer {
  status: number;
  headers: Headers;
  body: Buffer;
  /** How many answers came on the connection of a raw case; one for any other. */
  answers: number;
}

/** A problem of an answer, or of its absence. */
export interface Problem {
  kind: 'status' | 'shape' | 'leak' | 'answers' | 'silence' | 'stall';
  text: string;
  /** Whether a machine that is busy can cause it: then it counts only if it comes again when the case is sent alone. */
  mayBeTheMachine: boolean;
}
