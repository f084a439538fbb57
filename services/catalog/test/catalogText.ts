/** A valid catalog of region us, line by line as the tests count them; a test breaks the lines it is about. */
const catalogLines = [
  'region: us',
  'models:',
  '  - id: small-chat',
  '    name: Small Chat',
  '    hugging_face_id: example/Small-Chat',
  '    aliases: [small, chat]',
  '    category: text',
  '    quantization: int4',
  '    context_length: 8192',
  '    max_output_length: 4096',
  '    pricing:',
  '      prompt: "0.00000025"',
  '      completion: "0.0000005"',
  '      input_cache_read: "0.0000000025"',
  '      request: "0"',
  '      image: "0"',
  '      web_search: "0"',
  '      internal_reasoning: "0"',
  '    clearance: [us, eu]',
  '    supported_features: [tools]',
  '    supported_parameters: [max_tokens, temperature]',
  '    supported_sampling_parameters: [temperature]',
  '    template_tokens_per_message: 4',
  '    template_tokens_per_request: 3',
  '    created: 2025-01-26',
];

/** The same catalog with some of its lines (counted from 1) replaced, or removed where the new text is undefined. */
export function catalogTextWith(changes: Record<number, string | undefined>): string {
  const lines = catalogLines.map((line, index) => (index + 1 in changes ? changes[index + 1] : line));
  return `${lines.filter((line) => line !== undefined).join('\n')}\n`;
}

export interface OtherModel {
  id: string;
  aliases?: string[];
  clearance?: string;
  /** More lines of the model, `key: value` each. */
  more?: string[];
}

/** The catalog's one model and others after it, each like the first but for what is given. */
export function catalogTextOf(...others: OtherModel[]): string {
  const models = others.map(({ id, aliases = [], clearance = '[us, eu]', more = [] }) => [
    `  - id: ${id}`,
    ...catalogLines.slice(3, 5),
    `    aliases: [${aliases.join(', ')}]`,
    ...catalogLines.slice(6, 18),
    `    clearance: ${clearance}`,
    ...catalogLines.slice(19),
    ...more.map((line) => `    ${line}`),
  ]);
  return `${[...catalogLines, ...models.flat()].join('\n')}\n`;
}
