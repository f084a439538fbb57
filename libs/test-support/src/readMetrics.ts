import type { IncomingMessage, ServerResponse } from 'node:http';
import { serveHttp } from './serveHttp.ts';

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = `${NAME}="(?:[^"\\\\\\n]|\\\\["\\\\n])*"`;
const SAMPLE = new RegExp(`^(${NAME}(?:\\{${LABEL}(?:,${LABEL})*\\})?) (-?[0-9.]+(?:e[+-]?[0-9]+)?|[+-]Inf|NaN)$`);
const COMMENT = new RegExp(`^# (HELP ${NAME} .+|UNIT ${NAME} .+|TYPE ${NAME} (counter|gauge|histogram))$`);

/** Scrapes what a service measures, without the service's own server. */
export async function readMetrics({
  serveMetrics,
}: {
  serveMetrics: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
}): Promise<Map<string, number>> {
  const { url, close } = await serveHttp((req, res) => void serveMetrics(req, res));
  try {
    return await scrapeMetrics(`${url}/metrics`);
  } finally {
    await close();
  }
}

/** One scrape: each sample's value by its name and labels as written. Throws on a line that the text format does not know. */
export async function scrapeMetrics(url: string): Promise<Map<string, number>> {
  const response = await fetch(url);
  const text = await response.text();
  if (response.headers.get('content-type') !== 'text/plain; version=0.0.4; charset=utf-8')
    throw new Error('not the text format');
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const samples = new Map<string, number>();
  for (const line of text.split('\n').filter((it) => it !== '' && !COMMENT.test(it))) {
    const [, name, value] = SAMPLE.exec(line) ?? [];
    if (name === undefined || samples.has(name)) throw new Error(`no sample, or a second one: ${line}`);
    samples.set(name, Number(value?.replace('Inf', 'Infinity')));
  }
  return samples;
}
