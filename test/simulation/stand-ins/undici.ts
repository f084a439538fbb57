/** A request of the simulated stack. */
export interface SimulatedRequest {
  method?: string;
  body?: string;
  signal: AbortSignal;
}

export interface SimulatedAnswer {
  statusCode: number;
  headers: Record<string, string>;
  body: AsyncIterable<Uint8Array>;
}

type Transport = (url: URL, options: SimulatedRequest) => Promise<{ status: number; text: string }>;

let transport: Transport = async () => {
  throw new Error('there is no network yet');
};

/** Says where requests go. */
export function connectNetwork(next: Transport): void {
  transport = next;
}

/** Stands in for undici's `request`. */
export async function request(url: string, options: SimulatedRequest): Promise<SimulatedAnswer> {
  const { status, text } = await transport(new URL(url), options);
  return { statusCode: status, headers: {}, body: read(text) };
}

async function* read(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

/** Stands in for undici's `Agent`: the simulated network needs none. */
export class Agent {
  async close(): Promise<void> {}
}
