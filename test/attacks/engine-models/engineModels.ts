import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The operations that clients call. */
export type RequestOperation = 'chat' | 'completions' | 'embeddings';

export const OPERATIONS: RequestOperation[] = ['chat', 'completions', 'embeddings'];

interface Field {
  /** The type in the source. */
  type: string;
  default?: string;
  required?: boolean;
  /** Other names of the field in requests. */
  aliases?: string[];
  /** The words it may be, where they are listed. */
  literals?: string[];
  /** The classes of objects that it may hold. */
  models?: string[];
  /** The versions of the openai package that know it, where not all do. */
  of?: string[];
}

/** The output of `extract.py` for one release of an engine. */
export interface EngineModels {
  engine: string;
  operations: Record<RequestOperation | 'tokenize', string[]>;
  models: Record<string, { fields: Record<string, Field> }>;
  typesFromElsewhere: string[];
  /** Types of content parts that its code tells apart. */
  rawPartTypes: string[];
  /** Keys that are read from plain dicts, past the models, by what the dict holds; each with the modules that read it. */
  rawKeys: Record<string, Record<string, string[]>>;
}

const FOLDER = join(import.meta.dirname, 'generated');

/** Every release that is kept here. */
export const engines: EngineModels[] = readdirSync(FOLDER)
  .sort()
  .map((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')));

/** The keys that a class takes, as clients write them. */
export const keysOfModel = ({ models }: EngineModels, name: string): string[] =>
  Object.entries(models[name]?.fields ?? {}).flatMap(([key, { aliases }]) => aliases ?? [key]);

/** The keys of a request's body that an engine knows, whether its model has them or its code reads them. */
export function findTopLevelKeys(engine: EngineModels, operation: RequestOperation | 'tokenize'): string[] {
  const ofModels = (of: RequestOperation | 'tokenize') =>
    engine.operations[of].flatMap((name) => keysOfModel(engine, name));
  const known = new Set(Object.keys(engine.operations).flatMap((name) => ofModels(name as RequestOperation)));
  // Keys without a model are those of chats first of all.
  const readRaw = Object.keys(engine.rawKeys.request ?? {}).filter((key) => !known.has(key));
  return [...new Set([...ofModels(operation), ...(operation === 'chat' ? readRaw : [])])];
}

/** The classes that an object below a request's body may be, by the keys on the way there: `messages`, `content`, … */
function findModelsAt(engine: EngineModels, operation: RequestOperation, path: readonly string[]): string[] {
  let names = engine.operations[operation];
  for (const key of path) {
    const fields = names.flatMap((name) =>
      Object.entries(engine.models[name]?.fields ?? {}).filter(([field, { aliases }]) =>
        (aliases ?? [field]).includes(key),
      ),
    );
    names = [...new Set(fields.flatMap(([, { models }]) => models ?? []))].filter((name) => engine.models[name]);
  }
  return names;
}

/** Names of objects in engines' code that reads them without a model, by place. */
const READERS: Record<string, string> = {
  messages: 'message',
  'messages.content': 'part',
  'messages.content.image_url': 'media',
  'messages.tool_calls': 'tool_call',
  'messages.tool_calls.function': 'function',
  tools: 'tool',
  'tools.function': 'function',
  'tool_choice.function': 'function',
  response_format: 'response_format',
  chat_template_kwargs: 'chat_template_kwargs',
};

/** The keys that an engine's code reads, without a model, from objects that are called as those at a place are. */
export const findRawKeysAt = (engine: EngineModels, path: readonly string[]): string[] =>
  Object.keys(engine.rawKeys[READERS[path.join('.')] ?? ''] ?? {});

/** The keys that an engine knows at a place of a chat's body, by the keys on the way there. */
export const findModelKeysAt = (engine: EngineModels, path: readonly string[]): string[] =>
  findModelsAt(engine, 'chat', path).flatMap((name) => keysOfModel(engine, name));

/** A kind of content part: what `type` says, if it has to say anything, and its other keys. */
export interface PartKind {
  engine: string;
  types: string[];
  keys: string[];
}

/** Every kind of content part that an engine knows. */
export const findPartKinds = (engine: EngineModels): PartKind[] =>
  findModelsAt(engine, 'chat', ['messages', 'content']).map((name) => ({
    engine: engine.engine,
    types: engine.models[name]?.fields.type?.literals ?? [],
    keys: keysOfModel(engine, name).filter((key) => key !== 'type'),
  }));
