import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { findFreePorts } from '../../deploy/local/src/findFreePorts.ts';
import { aUsageRecorded } from '../../libs/events/src/aUsageRecorded.ts';
import { listen } from '../../libs/http-service/src/listen.ts';
import { sql } from '../../libs/postgres/src/sql.ts';
import { fleet as regionFleet, startAuth, type TestAuth } from '../../services/auth/test/startAuth.ts';
import { startConsoleRoutes as startCatalog } from '../../services/catalog/test/startConsoleRoutes.ts';
import { fleet as globalFleet } from '../../services/control-plane/test/startAccount.ts';
import { startConsole } from '../../services/edge/test/startConsole.ts';
import { openTestJobs, type TestJobs } from '../../services/media-jobs/test/openTestJobs.ts';
import { startConsoleRoutes as startJobs } from '../../services/media-jobs/test/startConsoleRoutes.ts';
import { aPartition, openTestLedger, type TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';
import { startTestService } from '../../services/usage-ledger/test/startTestService.ts';
import { type Dashboard, startDashboard } from './startDashboard.ts';

export interface OpenWorkspace {
  page: Page;
  organizationId: string;
  workspaceId: string;
  path: string;
}

/** The dashboard with what its pages call in region us: the console host, auth, the catalog, the ledger and the jobs. */
export interface RegionalDashboard extends Dashboard {
  auth: TestAuth;
  ledger: TestLedger;
  jobs: TestJobs;
  catalog: Awaited<ReturnType<typeof startCatalog>>;
  /** Sets how the router answers chat calls. */
  answerChats(listener: RequestListener): void;
  /** Sets what the region's gate knows of money, in nano-dollars, and of the use of limits per minute. */
  setCredit(amounts: Record<string, string | number>): void;
  /** Records a call of now with this charge. */
  spend(call: { workspaceId: string; keyId: string; nanoUsd: bigint }): Promise<void>;
  /** Registers `Key 0`, `Key 1` …, each a second younger than the one before. */
  registerMany(workspaceId: string, count: number): Promise<unknown>;
  /** Gives a workspace 366 days of 100 keys, which use 50 models in turn. */
  recordYear(workspaceId: string): Promise<void>;
  /** Gives the region a workspace that the account layer has, as its feed does. */
  tellWorkspace(workspaceId: string, organizationId: string): Promise<void>;
  /**
   * Signs in and creates an organization with a workspace, which the region does not know yet. Returns a page without content yet, and the
   * path of the workspace. */
  createWorkspace(address: string): Promise<OpenWorkspace>;
  /** Creates a workspace as of `createWorkspace` that the region knows. */
  prepareWorkspace(address: string): Promise<OpenWorkspace>;
  /** Creates a workspace as of `prepareWorkspace`, and opens its overview. */
  openWorkspace(address: string): Promise<OpenWorkspace>;
}

export const CREDIT = {
  credit_nano_usd: '12500000000',
  held_nano_usd: '3000000',
  month_spend_nano_usd: '7250000000',
  spend_nano_usd: '0',
};
/** A credit of which holds and calls take some. */
export const IN_USE = {
  ...CREDIT,
  held_nano_usd: '250000000',
  spend_nano_usd: '1500000000',
  used_requests: 540,
  used_tokens: 1_200_000,
};

export async function startRegionalDashboard(): Promise<RegionalDashboard> {
  const auth = await startAuth();
  const ledger = await openTestLedger();
  const jobs = await openTestJobs();
  const jobRoutes = await startJobs(jobs.db, regionFleet.publicKeys);
  const catalog = await startCatalog(regionFleet.publicKeys);
  let answerChat: RequestListener = (_req, res) => res.writeHead(503).end();
  const router = await listen((req, res) => answerChat(req, res), { host: '127.0.0.1', port: 0 });
  const service = await startTestService(ledger, {
    authUrl: auth.internalUrl,
    usageQueryTimeoutMs: 20_000,
    tokenKeys: regionFleet.publicKeys,
    pricesOf: async (version) => [
      {
        version,
        model: 'small-chat',
        of: {
          prompt: 400_000_000_000n,
          inputCacheRead: 100_000_000_000n,
          completion: 1_000_000_000_500n,
          request: 0n,
          image: 0n,
        },
      },
    ],
  });
  const [port = 0, consolePort = 0] = await findFreePorts(2);
  const host = await startConsole({
    port: consolePort,
    allowedOrigin: `http://localhost:${port}`,
    urls: {
      auth: auth.internalUrl,
      catalog: catalog.url,
      'usage-ledger': service.internalUrl,
      'media-jobs': jobRoutes.url,
    },
    routerUrl: `http://127.0.0.1:${(router.address() as AddressInfo).port}`,
    publicKeys: [...regionFleet.publicKeys, ...globalFleet.publicKeys],
    signingKey: regionFleet.keyOf('edge'),
  });
  const consoleUrl = `http://localhost:${consolePort}`;
  const dashboard = await startDashboard({
    port,
    regionHosts: { us: { console_url: consoleUrl, base_url: `${auth.publicUrl}/v1` } },
  });
  async function tellWorkspace(workspaceId: string, organizationId: string): Promise<void> {
    const workspace = {
      organization_id: organizationId,
      name: 'Told',
      billing_status: 'active',
      monthly_cap_nano_usd: null,
    };
    await auth.callInternal('PUT', `/internal/workspaces/${workspaceId}`, workspace);
  }
  async function createWorkspace(address: string): Promise<OpenWorkspace> {
    const { page, api } = await dashboard.openSession(address);
    const { body: organization } = await api.post('/account/organizations', { name: 'Acme' });
    const organizationId: string = organization.organization_id;
    const workspaces = `/account/organizations/${organizationId}/workspaces`;
    const { body: workspace } = await api.post(workspaces, { region: 'us', name: 'Production' });
    const workspaceId: string = workspace.workspace_id;
    const path = `/organizations/${organizationId}/workspaces/${workspaceId}`;
    return { page, organizationId, workspaceId, path };
  }
  async function prepareWorkspace(address: string): Promise<OpenWorkspace> {
    const made = await createWorkspace(address);
    await tellWorkspace(made.workspaceId, made.organizationId);
    return made;
  }
  return {
    ...dashboard,
    auth,
    ledger,
    jobs,
    catalog,
    answerChats(listener) {
      answerChat = listener;
    },
    setCredit: (amounts) => auth.answerSpend((_req, res) => void res.end(JSON.stringify(amounts))),
    spend: ({ nanoUsd: chargeNanoUsd, ...owner }) =>
      aPartition(ledger.db).deliver([
        aUsageRecorded({
          ...owner,
          startedAtMs: Date.now(),
          holdNanoUsd: chargeNanoUsd,
          formulaNanoUsd: chargeNanoUsd,
          chargeNanoUsd,
        }),
      ]),
    registerMany: (workspaceId, count) => auth.db.$executeRaw`
      INSERT INTO api_key (key_id, workspace_id, stored_hash, pepper_id, last_four, name, created_at)
      SELECT 'key_' || ${workspaceId} || '_' || n, ${workspaceId}, encode(sha256((${workspaceId} || ' ' || n)::bytea), 'hex'),
        'p1', lpad(n::text, 4, '0'), 'Key ' || n, TIMESTAMPTZ '2026-01-01 00:00Z' + n * INTERVAL '1 second'
      FROM generate_series(0, ${count - 1}::int) AS n`,
    async recordYear(workspaceId) {
      await ledger.ownerDb.query(sql`INSERT INTO key_total
        SELECT ${workspaceId} || '_key_' || key, ${workspaceId}, 366, 366 FROM generate_series(1, 100) AS key`);
      await ledger.ownerDb.query(sql`INSERT INTO key_hour_total
        SELECT ${workspaceId} || '_key_' || key, date_trunc('day', now(), 'UTC') - day * INTERVAL '1 day',
          'model-' || (key + day) % 50, 'text', 10, 9, 1, 0, 1000 * key, 10 * key, 100 * day, 1234567891::NUMERIC * key
        FROM generate_series(1, 100) AS key, generate_series(0, 365) AS day`);
    },
    tellWorkspace,
    createWorkspace,
    prepareWorkspace,
    async openWorkspace(address) {
      const prepared = await prepareWorkspace(address);
      await prepared.page.goto(prepared.path);
      await prepared.page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      return prepared;
    },
    async stop() {
      await dashboard.stop();
      host.stop();
      await service.close();
      router.close();
      router.closeAllConnections();
      await catalog.close();
      await jobRoutes.close();
      await jobs.close();
      await ledger.close();
      await auth.stop();
    },
  };
}
