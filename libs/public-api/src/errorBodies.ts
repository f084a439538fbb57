import { z } from 'zod';
import { usdAmount } from './usdAmount.ts';

const docUrl = z.url().optional().meta({
  description: 'The page about keys, their limits and credit: on 401, 402 and a key’s own 429.',
});
const envelopeFields = {
  message: z.string().meta({ description: 'For people. It has no key, no prompt and no internals of the service.' }),
  type: z.string().nullable(),
  param: z.string().nullable().optional().meta({ description: 'The field that is wrong, if it is known.' }),
  code: z.string().nullable().optional().meta({ description: 'For debugging; not part of the contract.' }),
  doc_url: docUrl,
  did_you_mean: z
    .array(z.string())
    .optional()
    .meta({ description: 'Models of this region with a similar name, where one is looked up that is not there.' }),
};

/** `{error: {message, type, param?, code?, doc_url?}}`: chat, completions, embeddings and parts of other families. */
export const errorEnvelopeSchema = z
  .strictObject({ error: z.strictObject(envelopeFields) })
  .meta({ title: 'Error envelope', description: 'The usual error. Branch on the status; bodies may change.' });

/** `{error: "<code>", …}`: parts of `/v1/svc/*`, and media. */
export const flatErrorSchema = z
  .strictObject({
    error: z.string().meta({ description: 'A bare code.' }),
    message: z.string().meta({ description: 'For people.' }),
    param: z.string().optional().meta({ description: 'The field that is wrong.' }),
    doc_url: docUrl,
  })
  .meta({ title: 'Flat error', description: 'The error of endpoints that serve directly.' });

/** 402 of media: what a call could cost at most fits no balance. */
export const mediaBalanceSchema = flatErrorSchema
  .omit({ param: true })
  .extend({
    error: z.literal('insufficient_balance'),
    max_usage_cost_usd: usdAmount.meta({ description: 'Maximum cost of the request.' }),
    remaining_usd: usdAmount.meta({
      description: 'The rest of the balance in `limited_by`, less the holds of calls in progress.',
    }),
    key_remaining_usd: usdAmount.nullable().meta({ description: 'The rest of the key’s budget; null if it has none.' }),
    held_usd: usdAmount.meta({ description: 'Holds of calls in progress.' }),
    limited_by: z.enum(['key_budget', 'credit', 'monthly_cap']).meta({ description: 'The balance that is too small.' }),
  })
  .meta({
    title: 'Insufficient balance for media',
    description: 'What the request could cost at most fits no balance.',
  });

/** 413 of speech-to-text. */
export const uploadTooLargeSchema = z
  .strictObject({
    error: z.literal('file_too_large'),
    message: z
      .string()
      .optional()
      .meta({ description: 'Where the length was announced; none where it showed while reading.' }),
    max_size_mb: z.int().min(1).meta({ description: 'Largest upload, in MiB.' }),
  })
  .meta({ title: 'Upload too large', description: 'The upload is above the limit.' });

/** 422 of speech-to-text, of an upload that is no form. */
export const noFormSchema = z
  .strictObject({
    error: z.literal('invalid_request_body'),
    message: z.string().meta({ description: 'For people.' }),
    detail: z.string().meta({ description: 'The same as `message`.' }),
  })
  .meta({ title: 'No form', description: 'The upload has a wrong content type.' });

/** `{detail}`, without an `error` key: the 502 of `GET /v1/svc/key`, `GET /v1/svc/credit` and `GET /v1/models`. */
export const bareErrorSchema = z
  .strictObject({ detail: z.string().meta({ description: 'Diagnostic; not a contract.' }) })
  .meta({ title: 'Bare error', description: 'A dependency inside could not be asked. Always safe to retry.' });

const rejectionOf = <Code extends z.ZodType<string>, Fields extends z.ZodRawShape>(
  status: string,
  code: Code,
  fields: Fields,
) =>
  z.strictObject({
    error: z.strictObject({
      message: code.meta({ description: 'The bare code.' }),
      type: z.literal('None').meta({ description: 'The text `None`.' }),
      param: z.literal('None').meta({ description: 'The text `None`.' }),
      code: z.literal(status).meta({ description: 'The status as text.' }),
      provider_specific_fields: z.strictObject({
        error: code.meta({ description: 'The code again.' }),
        message: z.string().meta({ description: 'For people.' }),
        ...fields,
      }),
    }),
  });

export const unknownModelSchema = rejectionOf('404', z.literal('unknown_model'), {
  did_you_mean: z.array(z.string()).meta({ description: 'Models of this region with a similar name.' }),
  suggested_model: z.string().optional().meta({ description: 'What replaces a retired model.' }),
}).meta({ title: 'Unknown model', description: 'No such model in this region.' });

export const insufficientBalanceSchema = rejectionOf('402', z.literal('insufficient_balance'), {
  max_usage_cost_usd: usdAmount.meta({ description: 'Maximum cost of the request.' }),
  remaining_usd: usdAmount.meta({
    description: 'The rest of the balance in `limited_by`, less the holds of calls in progress.',
  }),
  key_remaining_usd: usdAmount.nullable().meta({ description: 'The rest of the key’s budget; null if it has none.' }),
  held_usd: usdAmount.meta({ description: 'Holds of calls in progress.' }),
  limited_by: z.enum(['key_budget', 'credit', 'monthly_cap']).meta({ description: 'The balance that is too small.' }),
  affordable_output_tokens: z.int().min(0).meta({ description: 'With this `max_tokens` the request would pass.' }),
  doc_url: docUrl,
}).meta({ title: 'Insufficient balance', description: 'What the request could cost at most fits no balance.' });

export const accountRefusedSchema = rejectionOf(
  '402',
  z.enum(['spend_cap_reached', 'account_on_hold', 'billing_not_provisioned']),
  { doc_url: docUrl },
).meta({ title: 'Account refused', description: 'The account cannot pay for anything now.' });

export const regionNotServedSchema = rejectionOf('403', z.literal('region_not_served'), {}).meta({
  title: 'Region not served',
  description: 'The organization is pinned to a region that this host does not serve.',
});

export type ErrorEnvelope = z.infer<typeof errorEnvelopeSchema>;
export type BareError = z.infer<typeof bareErrorSchema>;
export type FlatError = z.infer<typeof flatErrorSchema>;
export type MediaBalance = z.infer<typeof mediaBalanceSchema>;
export type UploadTooLarge = z.infer<typeof uploadTooLargeSchema>;
export type NoForm = z.infer<typeof noFormSchema>;
/** Members of `provider_specific_fields` in the body of a gate's refusal. */
export type RejectionFields = z.infer<
  | typeof unknownModelSchema
  | typeof insufficientBalanceSchema
  | typeof accountRefusedSchema
  | typeof regionNotServedSchema
>['error']['provider_specific_fields'];
export interface GateRejection {
  error: {
    message: RejectionFields['error'];
    type: 'None';
    param: 'None';
    code: string;
    provider_specific_fields: RejectionFields;
  };
}
export type ErrorBody = ErrorEnvelope | FlatError | MediaBalance | UploadTooLarge | NoForm | BareError | GateRejection;
