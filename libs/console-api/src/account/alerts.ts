import * as z from 'zod/mini';
import { limitNanoUsd, nanoUsd } from '../amounts.ts';
import { defineRoutes, idSchema, inOrganization, instant, UNKNOWN_WORKSPACE } from './accountRoute.ts';

const alertRuleSchema = z.object({
  /** An amount for a calendar month (UTC) that stops nothing, in contrast to the monthly cap of the workspace. */
  budget_nano_usd: z.nullable(nanoUsd),
  balance_below_nano_usd: z.nullable(nanoUsd),
  /** Whether the members who may pay get a mail. */
  is_mailed: z.boolean(),
  webhook: z.nullable(z.object({ url: z.string(), set_at: instant })),
});
const alertSchema = z.object({
  alert_id: z.string(),
  kind: z.enum(['budget', 'cap', 'balance']),
  /** The reached part of the budget or the cap: 50, 80 or 100. Null for a balance. */
  percent: z.nullable(z.int()),
  /** The UTC month of the spend: `2026-11`. Null for a balance. */
  month: z.nullable(z.string()),
  limit_nano_usd: nanoUsd,
  /** The spend of the month, or the balance, as the region had reported it. */
  value_nano_usd: nanoUsd,
  raised_at: instant,
  /** Its webhook. `given_up`: no attempt is left, or the address was changed. Null where there was no address. */
  delivery: z.nullable(
    z.object({
      delivery_id: z.string(),
      url: z.string(),
      state: z.enum(['waiting', 'delivered', 'given_up']),
      attempts: z.int(),
      /** The status of the last answer, or why there was none. */
      last_status: z.nullable(z.int()),
      last_error: z.nullable(z.string()),
      ended_at: z.nullable(instant),
    }),
  ),
});

/** The routes of alerts. */
export const alertRoutes = defineRoutes({
  getAlerts: {
    access: { of: 'member', right: 'billing.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/alerts',
    promise: 'Shows when a workspace alerts, and whether by mail, by webhook or both.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    answer: alertRuleSchema,
    faults: UNKNOWN_WORKSPACE,
  },
  setAlerts: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'PUT',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/alerts',
    promise:
      'Sets when a workspace alerts: at 50, 80 and 100 % of the budget and of the monthly cap, and below a balance. Each once in a month, or until the next credit.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    body: z.strictObject({
      budget_nano_usd: limitNanoUsd,
      balance_below_nano_usd: limitNanoUsd,
      is_mailed: z.boolean(),
    }),
    answer: alertRuleSchema,
    faults: UNKNOWN_WORKSPACE,
  },
  setAlertWebhook: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'PUT',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/alerts/webhook',
    promise:
      'Sets the address to which alerts are posted. The answer alone shows the secret, which signs them as the Standard Webhooks specification says. Set again, it has another secret.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    body: z.strictObject({ url: z.string().check(z.maxLength(2_000)) }),
    answer: z.object({ ...alertRuleSchema.shape, secret: z.string() }),
    faults: {
      ...UNKNOWN_WORKSPACE,
      webhook_url_refused: {
        status: 400,
        message: 'The address must be https on port 443 of a public host, without a user and a password.',
      },
    },
  },
  removeAlertWebhook: {
    access: { of: 'member', right: 'billing.write', recent: true },
    method: 'DELETE',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/alerts/webhook',
    promise: 'Ends the webhook of a workspace. Deliveries under way are given up.',
    params: z.object({ ...inOrganization, workspace_id: idSchema }),
    answer: alertRuleSchema,
    faults: UNKNOWN_WORKSPACE,
  },
  listAlerts: {
    access: { of: 'member', right: 'billing.read' },
    method: 'GET',
    path: '/account/organizations/:organization_id/workspaces/:workspace_id/alerts/raised',
    promise:
      'Lists the alerts of a workspace with their webhooks, the newest first, 100 at a time. `before` is the last id of the page before.',
    params: z.object({ ...inOrganization, workspace_id: idSchema, before: z.optional(idSchema) }),
    answer: z.object({ alerts: z.array(alertSchema), next: z.nullable(z.string()) }),
    faults: UNKNOWN_WORKSPACE,
  },
});
