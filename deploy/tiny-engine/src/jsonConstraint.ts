import type { ChatRequest } from '@turnpike/engine-simulator/wire/chatRequest';
import { badRequest } from '@turnpike/engine-simulator/wire/engineError';
import { type Llama, type LlamaGrammar, LlamaGrammarEvaluationState, TokenBias } from 'node-llama-cpp';
import type { LoadedLlama } from './loadLlama.ts';

export interface JsonConstraint {
  grammarEvaluationState: LlamaGrammarEvaluationState;
  tokenBias: TokenBias;
}

/** Text after which a JSON value is complete; the grammar of a schema leads up to it. */
export const JSON_END = '\n\n\n\n';

/** How much likelier than in prose, as a logit, so that random strings, lists and numbers soon come to an end. */
const LOGIT_RAISES: Readonly<Record<string, number>> = {
  '"': 11,
  ',': -2,
  ...Object.fromEntries([...'{}[]-0123456789'].map((character) => [character, 6])),
};

/** Constrains one generation to the format that a chat asks for. Throws a 400 for a schema that no grammar can be made of. */
export async function createJsonConstraint(
  format: ChatRequest['response_format'],
  { llama, model }: Pick<LoadedLlama, 'llama' | 'model'>,
): Promise<JsonConstraint | undefined> {
  const grammar = await findGrammar(format, llama);
  if (!grammar) return undefined;
  const tokenBias = TokenBias.for(model);
  for (const [character, logit] of Object.entries(LOGIT_RAISES)) tokenBias.set(model.tokenize(character), { logit });
  return { grammarEvaluationState: new LlamaGrammarEvaluationState({ model, grammar }), tokenBias };
}

type JsonSchema = Parameters<Llama['createGrammarForJsonSchema']>[0];

async function findGrammar(format: ChatRequest['response_format'], llama: Llama): Promise<LlamaGrammar | undefined> {
  if (format?.type === 'json_object') return llama.getGrammarFor('json');
  if (format?.type !== 'json_schema') return undefined;
  try {
    return await llama.createGrammarForJsonSchema(format.json_schema?.schema as JsonSchema);
  } catch {
    throw badRequest('This JSON schema cannot be turned into a grammar.', 'response_format');
  }
}
