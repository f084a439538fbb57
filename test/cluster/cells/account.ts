import { readFile } from 'node:fs/promises';
import { type ClusterDescription, readClusterFile } from '@turnpike/cluster/describeCluster';
import { signingKeySchema } from '@turnpike/config/internalKeys';
import { REGIONS, type Region } from '@turnpike/config/region';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { until } from '@turnpike/test-support/until';
import { AccountUser } from '../../support/accountUser.ts';
import type { Cell, Suite } from '../cell.ts';

const TIMEOUT_MS = 15_000;
const DAY_MS = 86_400_000;
/** Ledgers report changed days each minute. */
const DAY_TOLD_WITHIN_MS = 120_000;

interface CallBody {
  key_id: string;
  status: string;
  prompt_tokens: number;
  completion_tokens: number;
  charge_nano_usd: string;
  started_at: string;
}

export const account: Cell = {
  name: 'account',
  does: 'loads the dashboard; for each region, a new user signs in by a mailed link, makes an organization, a workspace, and a key at the console host, and calls with the key',
  holds:
    'the call is answered, the console host shows it in the usage with its tokens and its cost, and the region tells the account layer the same of the day',
  async run(suite) {
    const cluster = await readClusterFile();
    suite.doing('account: the dashboard');
    await checkPages(cluster, suite);
    await Promise.all(REGIONS.map((region) => useRegion(region, { cluster, suite })));
  },
};

/** The page, with the policy that lets it call both console hosts, and the script that the page names. */
async function checkPages({ services }: ClusterDescription, { check, note }: Suite): Promise<void> {
  const { url } = services['control-plane'];
  const page = await fetch(url, { headers: { accept: 'text/html' }, signal: AbortSignal.timeout(TIMEOUT_MS) });
  const html = await page.text();
  check(page.status === 200, `the account layer answers ${page.status} to a browser`);
  const policy = page.headers.get('content-security-policy') ?? '';
  check(
    /connect-src 'self' http:\/\/localhost:8107 http:\/\/localhost:8108;/.test(policy),
    `the page may call: ${policy}`,
  );
  const script = /<script [^>]*src="(\/assets\/[^"]+)"/.exec(html)?.[1];
  const asset = await fetch(url + script, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  const bytes = (await asset.arrayBuffer()).byteLength;
  const type = asset.headers.get('content-type') ?? '';
  check(asset.status === 200 && type.startsWith('text/javascript'), `${script} is answered ${asset.status}, ${type}`);
  note(`the dashboard: a page of ${html.length} bytes, a script of ${bytes} bytes`);
}

async function useRegion(
  region: Region,
  { cluster, suite: { check, doing, note } }: { cluster: ClusterDescription; suite: Suite },
): Promise<void> {
  doing(`account: a user of ${region}`);
  const startedAt = performance.now();
  const user = await AccountUser.signIn(cluster);
  const workspace = await user.makeWorkspace(region);
  const { keyId, apiKey } = await workspace.makeKey();
  const answer = await workspace.untilChat(apiKey);
  const answeredMs = performance.now() - startedAt;
  const { usage } = (await answer.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
  check(usage.completion_tokens > 0, `${region}: the answer has no tokens`);

  const callId = answer.headers.get('x-router-call-id');
  const call = await until(`the call in the usage of ${region}`, async () => {
    const found = await workspace.ask(`/console/usage/calls/${callId}`);
    return found.status === 200 ? ((await found.json()) as CallBody) : undefined;
  });
  const { key_id, status, prompt_tokens, completion_tokens, charge_nano_usd: charge, started_at: startedIso } = call;
  const seen = { key_id, status, prompt_tokens, completion_tokens };
  const wanted = {
    key_id: keyId,
    status: 'success',
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
  };
  check(
    JSON.stringify(seen) === JSON.stringify(wanted),
    `${region}: the usage has ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`,
  );
  check(BigInt(charge) > 0n, `${region}: the call cost ${charge} nano-dollars`);

  const day = startedIso.slice(0, 10);
  const end = new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
  await until(`the sums of the key in ${region}`, async () => {
    const { usage: rows } = (await (await workspace.ask(`/console/usage?start=${day}&end=${end}`)).json()) as {
      usage: { key_id: string; success: number; charge_nano_usd: string }[];
    };
    return rows.some((row) => row.key_id === keyId && row.success === 1 && row.charge_nano_usd === charge);
  });

  doing(`account: the day of ${region}`);
  const operator = await toOperator(cluster, region);
  const readDays = () => operator.listDayTotals({ params: { workspace_id: workspace.id, after: '' } });
  const told = await until(
    `the day of ${region} at the account layer`,
    async () => (await readDays()).days.find((total) => total.day === day),
    DAY_TOLD_WITHIN_MS,
  );
  check(
    told.spend_nano_usd === BigInt(charge) && told.requests === 1,
    `${region}: the account layer has a day of ${told.spend_nano_usd} nano-dollars and ${told.requests} requests, not of ${charge} and 1`,
  );
  note(
    `${region}: from signing in to an answer ${(answeredMs / 1_000).toFixed(1)} s; ${charge} nano-dollars in the usage, and at the account layer`,
  );
}

/** The account layer, as an operator of a region asks it. */
async function toOperator({ services, regions }: ClusterDescription, region: Region) {
  const { internalKeys } = JSON.parse(await readFile(regions[region].secrets_file, 'utf8'));
  const internalHeaders = createTokenIssuer({ key: signingKeySchema.parse(internalKeys.operator) });
  const { internal_url: url } = services['control-plane'];
  return createClient(controlPlaneApi, { url, internalHeaders, timeoutMs: TIMEOUT_MS });
}
