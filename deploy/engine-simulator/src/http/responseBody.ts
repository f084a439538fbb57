/** Where the bytes of an answer go. */
export interface ResponseBody {
  /** False when what was written waits for its reader: then `onceDrained` is to be awaited. */
  write(text: string): boolean;
  onceDrained(resume: () => void): void;
  end(text: string): void;
}
