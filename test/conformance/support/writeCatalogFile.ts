import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A model without a prompt cache; the repository's catalog has none that chats. */
export const MODEL_WITHOUT_CACHE = 'cacheless-instruct';
/** Two that are not to be had in `us`: for want of a licence, and by a decision. */
export const UNCLEARED_MODEL = 'llama-3.3-70b-licensed';
export const DISABLED_MODEL = 'disabled-instruct';

/** Writes the catalog of region `us` with three models more into a folder of its own, and gives the file. */
export async function writeCatalogFile(): Promise<string> {
  const file = fileURLToPath(new URL('../../../deploy/catalog/us/catalog.yaml', import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-catalog-'));
  const extended = join(folder, 'us.yaml');
  const extra = [
    toEntry(MODEL_WITHOUT_CACHE, 'cache_capable: false'),
    toEntry(UNCLEARED_MODEL, 'cache_capable: true', '[eu]'),
    toEntry(DISABLED_MODEL, 'state: disabled'),
  ];
  await writeFile(extended, `${await readFile(file, 'utf8')}\n${extra.join('\n')}`);
  return extended;
}

const toEntry = (id: string, line: string, clearance = '[us]'): string => `  - id: ${id}
    name: ${id}
    hugging_face_id: test/${id}
    category: text
    context_length: 8192
    max_output_length: 4096
    pricing: { prompt: "0.0000001", completion: "0.0000002", input_cache_read: "0.00000005", request: "0", image: "0", web_search: "0", internal_reasoning: "0" }
    clearance: ${clearance}
    ${line}
    supported_parameters: [max_tokens]
    supported_sampling_parameters: [max_tokens]
    template_tokens_per_message: 4
    template_tokens_per_request: 3
    created: 2025-01-01
`;
