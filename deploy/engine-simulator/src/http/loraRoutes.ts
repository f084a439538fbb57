import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { invalidUserInput, notFound } from '../wire/engineError.ts';
import { nullish } from '../wire/samplingFields.ts';
import type { EngineContext } from './engineContext.ts';
import { readJson } from './readJson.ts';
import { sendText } from './sendAnswer.ts';

const loadSchema = z.object({
  lora_name: nullish(z.string()),
  lora_path: nullish(z.string()),
  load_inplace: nullish(z.boolean()),
});

/** POST /v1/load_lora_adapter: from now on the adapter's name is a model of this process. Throws `InvalidUserInput`. */
export async function postLoadLora(
  req: IncomingMessage,
  res: ServerResponse,
  { engine: { adapters, config } }: EngineContext,
): Promise<void> {
  const { lora_name: name, lora_path: path, load_inplace: mayReplace } = await readJson(req, loadSchema);
  if (!name || !path) throw invalidUserInput("Both 'lora_name' and 'lora_path' must be provided.");
  const isTaken = config.servedModelNames.includes(name) || (adapters.has(name) && !mayReplace);
  if (isTaken) throw invalidUserInput(`The lora adapter '${name}' has already been loaded.`);
  if (!adapters.load({ name, path })) throw invalidUserInput('Too many lora adapters are loaded.');
  sendText(res, `Success: LoRA adapter '${name}' added successfully.`, { contentType: 'text/plain; charset=utf-8' });
}

const unloadSchema = z.object({ lora_name: nullish(z.string()) });

/** POST /v1/unload_lora_adapter. Throws the 404 for a name that is not loaded. */
export async function postUnloadLora(
  req: IncomingMessage,
  res: ServerResponse,
  { engine: { adapters } }: EngineContext,
): Promise<void> {
  const { lora_name: name } = await readJson(req, unloadSchema);
  if (!name) throw invalidUserInput("'lora_name' needs to be provided to unload a LoRA adapter.");
  if (!adapters.unload(name)) throw notFound(`The lora adapter '${name}' cannot be found.`);
  sendText(res, `Success: LoRA adapter '${name}' removed successfully.`, { contentType: 'text/plain; charset=utf-8' });
}
