import { Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { PAGES } from '@turnpike/console-api/pages';
import type { ReactNode } from 'react';
import { PublicPage } from '../shell/PublicPage.tsx';
import { Code } from '../shell/states.tsx';

/** The page behind the `doc_url` of a refused call: each reason by its word in the answer, and its remedy. */
export function RefusedCalls() {
  return (
    <PublicPage title="Why was my call refused?">
      <Text>
        The answer to a refused call names its reason in <Code>error</Code>, <Code>code</Code> or <Code>message</Code>,
        and the header <Code>x-error-message</Code> says it in a sentence. A refused call costs nothing.
      </Text>
      <Refusals title="401 and 403: the key is not accepted">
        <Refusal word="invalid_api_key">
          The key is mistyped, was revoked, has expired, or belongs to another region. A key works at the address of its
          own region alone. Compare its last four characters with the list of keys, or make a new key.
        </Refusal>
        <Refusal word="missing_api_key, missing_authorization">
          Send the header <Code>Authorization: Bearer sk-...</Code>.
        </Refusal>
        <Refusal word="malformed_authorization">
          The header has another form. It is the word <Code>Bearer</Code>, one space, and the key, on one line.
        </Refusal>
        <Refusal word="key_blocked">
          The key is blocked. A member of the workspace can unblock it, unless the operator blocked it: ask support
          then.
        </Refusal>
      </Refusals>
      <Refusals title="402: the call is not paid for">
        <Refusal word="billing_not_provisioned">
          The workspace has never had credit. Add credit; the same key works within seconds.
        </Refusal>
        <Refusal word="insufficient_balance">
          The longest answer that the call allows may cost more than is left. <Code>limited_by</Code> says what is
          short: the budget of the key, the credit, or the monthly cap. Ask for fewer tokens (<Code>max_tokens</Code>),
          or raise what is short. <Code>remaining_usd</Code> says what is left.
        </Refusal>
        <Refusal word="spend_cap_reached">
          The workspace has spent its monthly cap. An owner or admin can raise the cap on the page of workspaces.
          Otherwise calls go on when the month ends (UTC).
        </Refusal>
        <Refusal word="account_on_hold">
          The organization is on hold. Support tells its owners why, and what ends the hold.
        </Refusal>
      </Refusals>
      <Refusals title="429: too many at once">
        <Refusal word="rate_limit_exceeded">
          The key has used up its requests or its tokens of this minute. Wait for as many seconds as the header{' '}
          <Code>retry-after</Code> says, or raise the limits of the key.
        </Refusal>
      </Refusals>
      <Text>
        <Link to={PAGES.organizations} className="link">
          Go to your organizations
        </Link>
      </Text>
    </PublicPage>
  );
}

function Refusals({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack gap="xs" component="section">
      <Title order={2} size="h4">
        {title}
      </Title>
      <ul className="list">{children}</ul>
    </Stack>
  );
}

function Refusal({ word, children }: { word: string; children: ReactNode }) {
  return (
    <li>
      <Code>{word}</Code>
      <Text>{children}</Text>
    </li>
  );
}
