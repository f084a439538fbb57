/** Requests that the log keeps. */
const MAX_ENTRIES = 50_000;

/** A request to the API, as the log has it. */
export interface RequestEntry {
  number: number;
  at: string;
  route: string;
  path: string;
  key: string | null;
  requestId: string;
  fault: string | null;
  /** The status of the answer, null while there is none. */
  status: number | null;
  isReplayed: boolean;
  /** The id of the answer's object. */
  object: string | null;
}

/** The requests of the API, the oldest first. */
export class RequestLog {
  readonly entries: RequestEntry[] = [];
  #count = 0;

  begin(given: Pick<RequestEntry, 'route' | 'path' | 'key' | 'requestId' | 'fault'>): RequestEntry {
    this.#count += 1;
    const entry = {
      number: this.#count,
      at: new Date().toISOString(),
      ...given,
      status: null,
      isReplayed: false,
      object: null,
    };
    this.entries.push(entry);
    if (this.entries.length > MAX_ENTRIES) this.entries.shift();
    return entry;
  }
}
