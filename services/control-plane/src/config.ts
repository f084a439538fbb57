import { commonConfig } from '@turnpike/config/commonConfig';
import { browserOriginSchema, databaseUrlSchema } from '@turnpike/config/sharedSettings';
import { nonNegativeNanoUsdSchema } from '@turnpike/money/nanoUsd';
import { parseHosts } from '@turnpike/request-reading/images/imageAddress';
import { z } from 'zod';
import { paymentProcessorSchema } from './billing/paymentProcessor.ts';
import { providersSchema } from './identity/providers.ts';
import { regionHostsSchema } from './organizations/regionHosts.ts';

export const configSchema = z.object({
  ...commonConfig,
  /** Postgres database of the account layer, with the role that owns nothing in it. */
  DATABASE_URL: databaseUrlSchema,
  /** The address of the account layer as browsers know it, without a path: `https://console.example.com`. Plain http on `localhost` alone. */
  ACCOUNT_ORIGIN: browserOriginSchema,
  /** Proxies in front whose `X-Forwarded-For` counts. 0: the connection's own address is the client's. */
  TRUSTED_HOPS: z.coerce.number().int().min(0),
  /**
   * The identity providers, as JSON: `[{"id", "name", "issuer", "client_id", "client_secret"}]`. None: people sign in by mailed links. The
   * redirect URI to register at a provider is `<ACCOUNT_ORIGIN>/account/sign-in/oidc/return/<id>`.
   */
  OIDC_PROVIDERS: providersSchema.default([]),
  /**
   * The hosts of each region as browsers and clients know them, as JSON:
   * `{"us": {"console_url": "https://console.us.example.com", "base_url": "https://api.us.example.com/v1"}}`.
   */
  REGION_HOSTS: regionHostsSchema,
  /** The mail server: `smtp://` or `smtps://`, with user and password where it wants them. */
  SMTP_URL: z.url({ protocol: /^smtps?$/, error: 'must be an smtp:// or smtps:// address' }),
  /**
   * Credit of the first workspace that a user makes, in nano-dollars. Unset: a workspace answers 402 until money is paid in.
   */
  WELCOME_CREDIT_NANO_USD: nonNegativeNanoUsdSchema.optional(),
  /**
   * The account at the payment processor, as JSON: `{"secret_key", "webhook_secrets": [], "documents", "api_url"?, "tax_code"?}`.
   * `documents` is the place for copies of invoices, `{"folder"}` or `{"url", "region", "bucket", "access_key_id", "secret_access_key"}`.
   * `api_url` is a stand-in of the processor. Unset or null: nothing can be paid in, and a workspace without credit answers 402 `billing_not_provisioned`.
   */
  PAYMENT_PROCESSOR: paymentProcessorSchema.default(null),
  /**
   * Hosts that webhooks about alerts may be posted to although their address is private, or not https: `host:port`, comma separated. Whoever
   * may pay for a workspace can make the control plane post there.
   */
  WEBHOOK_PRIVATE_HOSTS: z.string().default('').transform(parseHosts),
  /** The sender of every mail: `Turnpike <no-reply@example.com>`. */
  MAIL_FROM: z.string().min(3),
  /** The folder of the built dashboard. Unset: no path answers with a page. */
  DASHBOARD_DIR: z.string().min(1).optional(),
});
