/** One chunk of a chat stream, in the loose form of tests. */
export interface Chunk {
  id: string;
  model: string;
  choices: {
    index: number;
    delta: {
      role?: string;
      content?: string;
      reasoning?: string;
      tool_calls?: { index: number; id?: string; function: { name?: string; arguments: string } }[];
    };
    finish_reason: string | null;
    stop_reason?: string | null;
  }[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  error?: { message: string; type: string; code: number };
}

/** The data of every event of a stream, `[DONE]` included. Throws when the connection breaks. */
export async function readEvents(response: Response): Promise<string[]> {
  const text = await response.text();
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => event.replace(/^data: /, ''));
}

export const toChunks = (events: string[]): Chunk[] =>
  events.filter((event) => event !== '[DONE]').map((event) => JSON.parse(event) as Chunk);

export const contentOf = (chunks: Chunk[], index = 0): string =>
  chunks
    .flatMap(({ choices = [] }) => choices)
    .filter((choice) => choice.index === index)
    .map(({ delta }) => delta.content ?? '')
    .join('');
