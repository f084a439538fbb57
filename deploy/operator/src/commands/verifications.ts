import { VERIFICATION_KINDS, VERIFICATION_STATUSES } from '@turnpike/internal-api/controlPlane';
import { z } from 'zod';
import { type Command, defineCommand, defineList } from '../cli/command.ts';
import { flag, instantToCome, oneOf, option, organizationId, textOf, userId, verificationId } from '../cli/fields.ts';
import { readPages } from '../stack/readPages.ts';

const state = {
  status: oneOf('STATUS', VERIFICATION_STATUSES),
  reason: option('CODE', 'why, as the provider says it', textOf(100).optional()),
  expires: option('DAY', 'when it counts no more', instantToCome.optional()),
  redacted: flag('the provider has erased the evidence'),
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
    input: z.object({
      organizationId,
      kind: oneOf('KIND', VERIFICATION_KINDS),
      provider: option('NAME', 'who makes the check', textOf(100)),
      reference: option('ID', 'what the provider calls it', textOf(200)),
      user: option('USER', 'the member who is checked; without it, the organization is', userId.optional()),
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
    input: z.object({ verificationId, ...state }),
    async run({ verificationId: id, ...rest }, { services }) {
      const set = await services.account.setVerification({ params: { verification_id: id }, body: toState(rest) });
      return { document: set, text: `${id} is ${set.status}${set.redacted_at === null ? '' : ' and redacted'}.` };
    },
  }),
];
