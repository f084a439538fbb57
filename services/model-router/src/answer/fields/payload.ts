/** What a client gets: text where it was written here, and bytes where they were copied. */
export type Payload = string | Buffer;
