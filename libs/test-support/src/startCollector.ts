import { z } from 'zod';
import { serveHttp } from './serveHttp.ts';

const valueSchema = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ intValue: z.coerce.number() }).transform(({ intValue }) => intValue),
  z.object({ doubleValue: z.number() }).transform(({ doubleValue }) => doubleValue),
  z.object({ boolValue: z.boolean() }).transform(({ boolValue }) => boolValue),
]);
const attributesSchema = z
  .array(z.object({ key: z.string(), value: valueSchema }))
  .transform((attributes) => Object.fromEntries(attributes.map(({ key, value }) => [key, value])));
const spanSchema = z.object({
  name: z.string(),
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  kind: z.number(),
  attributes: attributesSchema,
  links: z.array(z.object({ traceId: z.string(), spanId: z.string() })).default([]),
  events: z.array(z.unknown()).default([]),
  status: z.object({ code: z.number().optional(), message: z.string().optional() }).default({}),
});
const exportSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: attributesSchema }),
      scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })),
    }),
  ),
});

export type CollectedSpan = z.output<typeof spanSchema> & { resource: Record<string, unknown> };

export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** Requests that came, readable or not. */
  requests: { path: string | undefined; text: string }[];
  close(): Promise<void>;
}

/** A collector that reads OTLP over HTTP in JSON, and answers with the status it was given; undefined never answers. */
export async function startCollector({ status }: { status: number | undefined } = { status: 200 }): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const requests: Collector['requests'] = [];
  const { url, close } = await serveHttp((req, res) => {
    req.setEncoding('utf8');
    let text = '';
    req.on('data', (chunk: string) => {
      text += chunk;
    });
    req.on('end', () => {
      requests.push({ path: req.url, text });
      for (const { resource, scopeSpans } of exportSchema.parse(JSON.parse(text)).resourceSpans) {
        const received = scopeSpans.flatMap((scope) => scope.spans);
        spans.push(...received.map((span) => ({ ...span, resource: resource.attributes })));
      }
      if (status !== undefined) res.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  return { url, spans, requests, close };
}
