import { StackError } from '../stackError.ts';

const MAX_SHOWN = 100;

/** A real engine as the command line names it. */
export interface EngineChoice {
  url: string;
  /** Abilities of its models, beside those that the engine shows. */
  can: { tools: boolean; images: boolean };
  /** Window of its models in tokens; undefined: the engine states it. */
  contextLength: number | undefined;
}

/**
 * Parses the value of `--engine`: the address of a server of the public chat API, with or without `/v1`. `tools`,
 * `images` and `window=TOKENS` may follow after commas. Throws a `StackError` on anything else, without a password of
 * the address.
 */
export function parseEngineChoice(text: string): EngineChoice {
  const [address = '', ...words] = text.split(',');
  const choice: EngineChoice = {
    url: parseEngineUrl(address),
    can: { tools: false, images: false },
    contextLength: undefined,
  };
  for (const word of words) {
    const [, tokens] = /^window=([1-9]\d{0,8})$/.exec(word) ?? [];
    if (word === 'tools' || word === 'images') choice.can[word] = true;
    else if (tokens !== undefined) choice.contextLength = Number(tokens);
    else
      throw new StackError(
        `--engine ${choice.url} is followed by ${JSON.stringify(word.slice(0, MAX_SHOWN))}. Behind the address may stand tools, images and window=TOKENS, as in --engine ${choice.url},tools,window=32768`,
      );
  }
  return choice;
}

function parseEngineUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw refuse(`--engine ${JSON.stringify(text.slice(0, MAX_SHOWN))} is no http(s) address.`);
  if (url.username !== '' || url.password !== '')
    throw refuse(`--engine ${url.origin} comes with a user or a password, which an engine is never sent.`);
  if (!/^\/(v1\/?)?$/.test(url.pathname) || url.search !== '' || url.hash !== '')
    throw refuse(`--engine ${url.href.slice(0, MAX_SHOWN)} names more than a host and a port.`);
  return url.origin;
}

/** Throws a `StackError` for a repeated address, because its engine would count as two. */
export function refuseSameEngineTwice(urls: string[]): void {
  const repeated = urls.find((url, index) => urls.indexOf(url) !== index);
  if (repeated !== undefined) throw new StackError(`--engine ${repeated} stands twice. Name each engine once.`);
}

function refuse(problem: string): StackError {
  return new StackError(`${problem} Give --engine http://host:port.`);
}
