import type { Order, Seen, Skill } from './order.ts';

export interface Access {
  baseUrl: string;
  apiKey: string;
  /** How often the client may repeat a failed call. */
  maxRetries: number;
  /** Headers that the client adds to each call. */
  headers?: Record<string, string>;
}

/** A client library, as far as the scenario has to know it. */
export interface Client {
  name: string;
  /** The names of the errors it raises. */
  errors: {
    wrongKey: string;
    unknownModel: string;
    insufficientBalance: string;
    rateLimited: string;
    promptTooLong: string;
    unprocessable: string;
  };
  /** Does what it is told, with a key, and tells what it saw. */
  obey(order: Order, access: Access): Promise<Seen>;
  /** Skills that it does not have. */
  lacks?: Skill[];
  /** Fields that it does not show its user. */
  hides?: ('embeddingUsage' | 'suggestions')[];
  /** Does what takes long before a first order. */
  open?(): Promise<void>;
  close?(): Promise<void>;
}
