import { request } from 'undici';
import { z } from 'zod';

const TIMEOUT_MS = 10_000;

const modelListSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      category: z.string(),
      context_length: z.number(),
      is_ready: z.boolean(),
      pricing: z.object({ prompt: z.string(), completion: z.string() }),
      /** The unit that the price of a media model is for, and that price. */
      billing_unit: z.string().optional(),
      unit_price: z.string().nullish(),
    }),
  ),
});
export type ListedModel = z.infer<typeof modelListSchema>['data'][number];

/** The models as a client sees them, `GET /v1/models` through the edge; undefined while it does not answer 200. */
export async function listModels(baseUrl: string, apiKey: string): Promise<ListedModel[] | undefined> {
  const { statusCode, body } = await request(`${baseUrl}/models`, {
    headers: { authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await body.text();
  return statusCode === 200 ? modelListSchema.parse(JSON.parse(text)).data : undefined;
}
