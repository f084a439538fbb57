import { NativeSelect, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { usageConsoleApi } from '@turnpike/console-api/console/usage';
import { PAGES } from '@turnpike/console-api/pages';
import { hasRight } from '@turnpike/console-api/roles';
import { type ReactNode, useEffect, useState } from 'react';
import type * as z from 'zod/mini';
import { creditQuery, foundKeysQuery, spendRateQuery } from '../console.ts';
import { OFFERED_KEYS } from '../firstReads.ts';
import { CHAT_CALLS, LANGUAGES, type Language } from '../models/firstCall.ts';
import { listChatModels, modelsQuery } from '../models/readModels.ts';
import { once } from '../once.ts';
import { Snippet } from '../shell/Snippet.tsx';
import { Loaded, Page, Usd } from '../shell/states.tsx';
import { useNewSecret, useWorkspace } from '../shell/workspace.tsx';

/** A workspace at a glance: its first call, and its money. */
export function Overview() {
  const { role } = useWorkspace();
  return (
    <Page title="Overview">
      <Money />
      {hasRight(role, 'keys.read') && <FirstCall />}
    </Page>
  );
}

type SpendRate = z.output<typeof usageConsoleApi.routes.getSpendRate.answer>;

/** The credit of the workspace, how long it lasts, and the spend of this month beside the cap. */
function Money() {
  const workspace = useWorkspace();
  const credit = useQuery(creditQuery(workspace));
  const rate = useQuery(spendRateQuery(workspace));
  return (
    <div className="figures">
      <Figure title="Credit">
        <Loaded query={credit}>
          {({ credit_nano_usd: left, held_nano_usd: held }) => (
            <>
              <Amount nano={BigInt(left)} />
              <Text size="sm" c="dimmed">
                <Usd nano={BigInt(held)} /> of it is held for calls in progress.
              </Text>
            </>
          )}
        </Loaded>
      </Figure>
      <Figure title="Lasts for">
        <Loaded query={rate}>
          {(rate) => (
            <>
              <Text size="xl" fw={600}>
                {formatDaysLeft(rate)}
              </Text>
              <Text size="sm" c="dimmed">
                {rate.per_day_nano_usd === '0' ? (
                  'The mean spend of the last 7 days says how long credit lasts.'
                ) : (
                  <>
                    At <Usd nano={BigInt(rate.per_day_nano_usd)} /> a day,{' '}
                    {rate.mean_days === 1
                      ? 'the spend of the last day.'
                      : `the mean of the last ${getDays().format(rate.mean_days)}.`}
                  </>
                )}
              </Text>
            </>
          )}
        </Loaded>
      </Figure>
      <Figure title="This month">
        <Loaded query={credit}>
          {({ month_spend_nano_usd: spent, monthly_cap_nano_usd: cap }) => (
            <>
              <Amount nano={BigInt(spent)} />
              <Text size="sm" c="dimmed">
                {cap === null ? (
                  'The workspace has no monthly cap. Months are in UTC.'
                ) : (
                  <>
                    Of a cap of <Usd nano={BigInt(cap)} />. Calls are refused beyond it until the month ends, in UTC.
                  </>
                )}
              </Text>
            </>
          )}
        </Loaded>
      </Figure>
    </div>
  );
}

function formatDaysLeft({ credit_nano_usd: credit, days_left: days, mean_days: meanDays }: SpendRate): string {
  if (BigInt(credit) <= 0n) return 'No credit';
  if (days === null) return meanDays < 7 ? 'No spend yet' : 'No spend in 7 days';
  if (days < 1) return 'Less than a day';
  return days > 365 ? 'More than a year' : getDays().format(Math.floor(days));
}

const getDays = once(() => new Intl.NumberFormat(undefined, { style: 'unit', unit: 'day', unitDisplay: 'long' }));

const Figure = ({ title, children }: { title: string; children: ReactNode }) => (
  <Paper withBorder p="lg" component="section" aria-label={title}>
    <Title order={2} size="h4">
      {title}
    </Title>
    {children}
  </Paper>
);

const Amount = ({ nano }: { nano: bigint }) => (
  <Text size="xl" fw={600}>
    <Usd nano={nano} />
  </Text>
);

/** A first call of the API, with the secret of a key that was created just now, or a placeholder. */
function FirstCall() {
  const workspace = useWorkspace();
  const { organizationId, workspaceId, baseUrl } = workspace;
  const query = useQuery(foundKeysQuery(workspace, OFFERED_KEYS));
  const models = useQuery(modelsQuery(workspace.consoleUrl));
  const [cheapest] = listChatModels(models.data ?? []);
  const [secret, setSecret] = useNewSecret();
  const [chosen, setChosen] = useState('');
  const [language, setLanguage] = useState<Language>('curl');
  // The secret is on this one screen, once.
  useEffect(() => () => setSecret(undefined), [setSecret]);
  return (
    <Paper withBorder p="lg" component="section" aria-label="First call">
      <Stack>
        <Title order={2} size="h3">
          First call
        </Title>
        <Loaded query={query}>
          {({ keys: active }) => {
            const key = active.find(({ key_id: id }) => id === chosen) ?? active[0];
            if (!key)
              return (
                <Text>
                  A call needs an API key.{' '}
                  <Link to={PAGES.keys} params={{ organizationId, workspaceId }} className="link">
                    Create a key
                  </Link>
                </Text>
              );
            return (
              <>
                {secret === undefined ? (
                  <NativeSelect
                    label="Key"
                    description={`Put its secret in place of sk-...${key.last_four}.`}
                    data={active.map(({ key_id: value, name, last_four: end }) => ({
                      value,
                      label: `${name} (sk-...${end})`,
                    }))}
                    value={key.key_id}
                    onChange={({ currentTarget }) => setChosen(currentTarget.value)}
                  />
                ) : (
                  <Text>The secret of your new key is shown until you leave this page.</Text>
                )}
                <NativeSelect
                  label="Language"
                  data={LANGUAGES}
                  value={language}
                  onChange={({ currentTarget }) =>
                    setLanguage(LANGUAGES.find((name) => name === currentTarget.value) ?? 'curl')
                  }
                />
                <Snippet
                  label="First call"
                  text={CHAT_CALLS[language]({
                    baseUrl,
                    secret: secret?.text ?? `sk-...${key.last_four}`,
                    model: cheapest?.id ?? '<id of a model>',
                  })}
                />
                <Text size="sm" c="dimmed">
                  The first part lists the models of this region, the second asks one of them.{' '}
                  <Link to={PAGES.models} search={{ region: workspace.region }} className="link">
                    Compare their prices
                  </Link>
                  . Call the API from servers, since browsers cannot. To chat in your browser, open the{' '}
                  <Link to={PAGES.playground} params={{ organizationId, workspaceId }} className="link">
                    playground
                  </Link>
                  .
                </Text>
              </>
            );
          }}
        </Loaded>
      </Stack>
    </Paper>
  );
}
