import { VERIFICATION_KINDS, VERIFICATION_STATUSES } from '@turnpike/internal-api/controlPlane';
import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { flag, instantToCome, organizationId, userId, verificationId } from '../cli/fields.ts';
import { readPages } from '../stack/readPages.ts';

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
  redacted: flag,
};
const toState = ({ status, reason, expires, redacted }: z.output<z.ZodObject<typeof state>>) => ({
  status,
  reason_code: reason ?? null,
  expires_at: expires?.toISOString() ?? null,
  is_redacted: redacted,
});

export const verificationCommands: Command[] = [
  defineList({
    words: 'verifications list',
    summary: 'the identity verifications of an organization and its members, by their references at the provider',
    isOfAllRegions: true,
    operands: { organizationId: 'ORG' },
    input: z.object({ organizationId }),
    name: 'verifications',
    ifNone: 'There are no verifications.',
    read: ({ organizationId: id }, { services: { account } }) =>
      readPages('verifications', (after) => account.listVerifications({ params: { organization_id: id, after } })),
    columns: {
      id: 'verification_id',
      of: (verification) => verification.user_id ?? verification.organization_id,
      kind: 'kind',
      status: 'status',
      reason: 'reason_code',
      decided: 'decided_at',
      expires: 'expires_at',
      redacted: 'redacted_at',
      provider: 'provider',
      reference: 'provider_reference',
    },
    about: ({ organizationId: id }) => ({ organization_id: id }),
  }),
  defineCommand({
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
  }),
  defineCommand({
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
  }),
];
