import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { callRoute } from '@turnpike/console-api/callRoute';
import { toMandateText } from '@turnpike/console-api/mandateText';
import { type SubmitEvent, useState } from 'react';
import * as z from 'zod/mini';
import { routes } from '../account.ts';
import { Failure, useChange } from '../shell/change.tsx';
import { Choice, Dialog } from '../shell/Dialog.tsx';
import { ConfirmDialog } from '../shell/dialogs.tsx';
import { Facts } from '../shell/Facts.tsx';
import { Loaded, Moment, Part, Usd } from '../shell/states.tsx';
import { useWorkspace } from '../shell/workspace.tsx';
import { toUsdField, usdField } from '../usd.ts';
import { CURRENCY_NAMES, formatCents, parseCents } from './money.ts';
import { type Card, CardsDialog, nameOf, useCards } from './SavedCards.tsx';

type Rule = z.output<typeof routes.getAutomaticTopUp.answer>;

const STATES: Record<Rule['state'], string> = {
  off: 'Off',
  on: 'On',
  paused: 'Paused',
  wants_cardholder: 'Your bank wants to ask you: go on to that payment below',
  on_hold: 'The organization is on hold',
};
const OFF_REASONS: Record<NonNullable<Rule['off_reason']>, string> = {
  member: 'a member switched it off',
  declines: 'the card was declined several times',
  card_gone: 'the card was removed',
};
const PAUSE_REASONS: Record<NonNullable<Rule['pause_reason']>, string> = {
  decline: 'the card was declined',
  day_limit: 'the limit of a day is reached',
  month_limit: 'the limit of a month is reached',
  account_limit: 'the limit of the organization is reached',
  euro_rate_missing: 'the euro rate of this month is missing',
};

/** The automatic top-up of the workspace: its terms, what holds it back, and the dialogs that change it. */
export function AutomaticPart({ mayPay }: { mayPay: boolean }) {
  const { organizationId, workspaceId } = useWorkspace();
  const params = { organization_id: organizationId, workspace_id: workspaceId };
  const [open, setOpen] = useState<'terms' | 'off' | 'cards'>();
  const close = () => setOpen(undefined);
  const query = useQuery({
    queryKey: ['automatic top-up', workspaceId],
    queryFn: () => callRoute(routes.getAutomaticTopUp, { params }),
  });
  const end = useChange((_: undefined) => callRoute(routes.endAutomaticTopUp, { params }), { onDone: close });
  return (
    <Part title="Automatic top-up">
      <Loaded query={query}>
        {(rule) => (
          <>
            {rule.state === 'off' && (
              <Text>
                Off{rule.off_reason === null ? '' : `: ${OFF_REASONS[rule.off_reason]}`}. When it is on, a saved card is
                charged as soon as the credit falls below an amount that you set, so that calls go on.
              </Text>
            )}
            {rule.state !== 'off' && <Terms rule={rule} />}
            {mayPay && (
              <Group>
                <Button variant="default" onClick={() => setOpen('terms')}>
                  {rule.state === 'off' ? 'Switch on automatic top-up' : 'Change automatic top-up'}
                </Button>
                {rule.state !== 'off' && (
                  <Button variant="default" onClick={() => setOpen('off')}>
                    Switch off automatic top-up
                  </Button>
                )}
                <Button variant="default" onClick={() => setOpen('cards')}>
                  Saved cards
                </Button>
              </Group>
            )}
            {open === 'cards' && <CardsDialog onClose={close} />}
            {open === 'terms' && <TermsDialog rule={rule} onClose={close} />}
            {open === 'off' && (
              <ConfirmDialog title="Switch off automatic top-up" action="Switch off" change={end} onClose={close}>
                Calls are refused once the credit is used up. A payment that is under way goes on.
              </ConfirmDialog>
            )}
          </>
        )}
      </Loaded>
    </Part>
  );
}

function Terms({ rule }: { rule: Rule }) {
  const { currency, card, pause_reason: reason, paused_until: until } = rule;
  const money = (cents: number | null) => (cents === null ? '–' : formatCents(currency, cents));
  return (
    <Facts
      facts={{
        State: (
          <>
            {STATES[rule.state]}
            {rule.state === 'paused' && reason !== null && `, because ${PAUSE_REASONS[reason]}`}
            {rule.state === 'paused' && until !== null && (
              <>
                , until <Moment at={until} />
              </>
            )}
          </>
        ),
        'Below a credit of': rule.threshold_nano_usd === null ? '–' : <Usd nano={BigInt(rule.threshold_nano_usd)} />,
        'Pays, without tax': money(rule.net_cents),
        'At most in a day (UTC)': `${money(rule.day_limit_cents)}, of which ${money(rule.charged_day_cents)} is used`,
        'At most in a month (UTC)': `${money(rule.month_limit_cents)}, of which ${money(rule.charged_month_cents)} is used`,
        Card: card === null ? '–' : nameOf(card),
      }}
    />
  );
}

function TermsDialog({ rule, onClose }: { rule: Rule; onClose: () => void }) {
  const cards = useCards();
  return (
    <Dialog title="Automatic top-up" onClose={onClose}>
      <Loaded query={cards}>
        {(saved) =>
          saved.length === 0 ? (
            <>
              <Text>No card is saved so far. Pay once by card: the payment saves it.</Text>
              <Group justify="flex-end">
                <Button variant="default" onClick={onClose}>
                  Close
                </Button>
              </Group>
            </>
          ) : (
            <TermsForm rule={rule} cards={saved} onClose={onClose} />
          )
        }
      </Loaded>
    </Dialog>
  );
}

const toField = (cents: number | null, usual: string): string => (cents === null ? usual : (cents / 100).toFixed(2));
const WRONG = 'This field must be an amount, as 25 or 12.50.';

function TermsForm({ rule, cards, onClose }: { rule: Rule; cards: Card[]; onClose: () => void }) {
  const { organizationId, workspaceId } = useWorkspace();
  const { currency } = rule;
  const [cardId, setCardId] = useState(
    (cards.find((each) => rule.card && nameOf(each) === nameOf(rule.card)) ?? cards[0])?.card_id ?? '',
  );
  const [texts, setTexts] = useState({
    threshold: toUsdField(rule.threshold_nano_usd) || '5',
    net: toField(rule.net_cents, '25'),
    day: toField(rule.day_limit_cents, '100'),
    month: toField(rule.month_limit_cents, '250'),
  });
  const [isTried, setIsTried] = useState(false);
  const card = cards.find(({ card_id: id }) => id === cardId);
  const threshold = z.safeParse(usdField, texts.threshold).data ?? undefined;
  const [net, day, month] = [parseCents(texts.net), parseCents(texts.day), parseCents(texts.month)];
  const isWhole = card && threshold !== undefined && net !== undefined && day !== undefined && month !== undefined;
  const text = isWhole
    ? toMandateText({
        ...{ currency, card, netCents: net, dayLimitCents: day, monthLimitCents: month },
        thresholdNanoUsd: BigInt(threshold),
      })
    : undefined;
  const change = useChange(
    (body: { confirmed_text: string; threshold_nano_usd: string; net: number; day: number; month: number }) =>
      callRoute(routes.setAutomaticTopUp, {
        params: { organization_id: organizationId, workspace_id: workspaceId },
        body: {
          card_id: cardId,
          threshold_nano_usd: body.threshold_nano_usd,
          net_cents: body.net,
          day_limit_cents: body.day,
          month_limit_cents: body.month,
          confirmed_text: body.confirmed_text,
        },
      }),
    { onDone: onClose },
  );
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setIsTried(true);
    if (isWhole && text !== undefined)
      change.mutate({ confirmed_text: text, threshold_nano_usd: threshold, net, day, month });
  };
  const fieldOf = (name: keyof typeof texts, value: unknown) => ({
    value: texts[name],
    inputMode: 'decimal' as const,
    onChange: ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
      const { value: typed } = currentTarget;
      setTexts((known) => ({ ...known, [name]: typed }));
    },
    error: isTried && value === undefined ? WRONG : undefined,
    required: true,
  });
  const inCurrency = `in ${CURRENCY_NAMES[currency]}`;
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <NativeSelect
          label="Card"
          data={cards.map((each) => ({ value: each.card_id, label: nameOf(each) }))}
          value={cardId}
          onChange={({ currentTarget }) => setCardId(currentTarget.value)}
        />
        <TextInput label="When the credit is below, in dollars" {...fieldOf('threshold', threshold)} />
        <TextInput label={`Amount of each payment ${inCurrency}`} description="Without tax." {...fieldOf('net', net)} />
        <TextInput label={`At most in a day ${inCurrency}`} {...fieldOf('day', day)} />
        <TextInput label={`At most in a month ${inCurrency}`} {...fieldOf('month', month)} />
        <Text size="sm" aria-live="polite">
          {text ?? 'Fill in all fields to see what you allow.'}
        </Text>
        <Failure error={change.error} />
        <Choice type="submit" isPending={change.isPending} onClose={onClose}>
          Allow these charges
        </Choice>
      </Stack>
    </form>
  );
}
