import { VERIFICATION_KINDS, VERIFICATION_STATUSES } from '@turnpike/internal-api/controlPlane';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { instantToCome, organizationId, userId, verificationId } from '../cli/fields.ts';
import { toInstantCell } from '../report/amounts.ts';
import { readPages } from '../stack/readPages.ts';

const COLUMNS = [
  { title: 'id' },
  { title: 'of' },
  { title: 'kind' },
  { title: 'status' },
  { title: 'reason' },
  { title: 'decided' },
  { title: 'expires' },
  { title: 'redacted' },
  { title: 'provider' },
  { title: 'reference' },
];

export const listVerifications = defineCommand({
  words: 'verifications list',
  summary: 'the identity verifications of an organization and its members, by their references at the provider',
  isOfAllRegions: true,
  operands: { organizationId: 'ORG' },
  input: z.object({ organizationId }),
  async run({ organizationId: id }, { services, table }) {
    const verifications = await readPages(async (after) => {
      const page = await services.account.listVerifications({ params: { organization_id: id, after } });
      return { entries: page.verifications, nextAfter: page.next_after };
    });
    const rows = verifications.map((verification) => [
      verification.verification_id,
      verification.user_id ?? verification.organization_id,
      verification.kind,
      verification.status,
      verification.reason_code ?? '-',
      toInstantCell(verification.decided_at),
      toInstantCell(verification.expires_at),
      toInstantCell(verification.redacted_at),
      verification.provider,
      verification.provider_reference,
    ]);
    return {
      document: { organization_id: id, verifications },
      text: rows.length > 0 ? table(COLUMNS, rows) : 'There are no verifications.',
    };
  },
});

const stateOptions = {
  status: { value: 'STATUS', help: VERIFICATION_STATUSES.join(', ') },
  reason: { value: 'CODE', help: 'why, as the provider says it' },
  expires: { value: 'DAY', help: 'when it counts no more' },
  redacted: { help: 'the provider has erased the evidence' },
};
const state = {
  status: z.enum(VERIFICATION_STATUSES, `must be one of ${VERIFICATION_STATUSES.join(', ')}`),
  reason: z.string().min(1).max(100, 'must be at most 100 characters').optional(),
  expires: instantToCome.optional(),
  redacted: z.boolean().default(false),
};
const toState = ({ status, reason, expires, redacted }: z.output<z.ZodObject<typeof state>>) => ({
  status,
  reason_code: reason ?? null,
  expires_at: expires?.toISOString() ?? null,
  is_redacted: redacted,
});

export const addVerification = defineCommand({
  words: 'verifications add',
  summary: 'record a check by an identity provider, by its reference alone',
  isOfAllRegions: true,
  operands: { organizationId: 'ORG' },
  options: {
    kind: { value: 'KIND', help: VERIFICATION_KINDS.join(', ') },
    provider: { value: 'NAME', help: 'who makes the check' },
    reference: { value: 'ID', help: 'what the provider calls it' },
    user: { value: 'USER', help: 'the member who is checked; without it, the organization is' },
    ...stateOptions,
  },
  input: z.object({
    organizationId,
    kind: z.enum(VERIFICATION_KINDS, `must be one of ${VERIFICATION_KINDS.join(', ')}`),
    provider: z.string().min(1).max(100, 'must be at most 100 characters'),
    reference: z.string().min(1).max(200, 'must be at most 200 characters'),
    user: userId.optional(),
    ...state,
  }),
  async run({ organizationId: id, kind, provider, reference, user, ...rest }, { services }) {
    const added = await services.account.addVerification({
      params: { organization_id: id },
      body: { kind, provider, provider_reference: reference, user_id: user ?? null, ...toState(rest) },
    });
    return { document: added, text: `${added.verification_id} is ${added.status}.` };
  },
});

export const setVerification = defineCommand({
  words: 'verifications set',
  summary: 'record the state of a check at its provider; one that is redacted stays so',
  isOfAllRegions: true,
  operands: { verificationId: 'VERIFICATION' },
  options: stateOptions,
  input: z.object({ verificationId, ...state }),
  async run({ verificationId: id, ...rest }, { services }) {
    const set = await services.account.setVerification({ params: { verification_id: id }, body: toState(rest) });
    return { document: set, text: `${id} is ${set.status}${set.redacted_at === null ? '' : ' and redacted'}.` };
  },
});
