import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '@turnpike/config/loadConfig';
import { LONGEST_MEDIA_SILENCE_MS, toLongestCallMs } from '@turnpike/config/longestAnswers';
import { REGIONS } from '@turnpike/config/region';
import {
  DATABASE_SERVICES,
  entryOf,
  GLOBAL_SERVICES,
  REGION_SERVICES,
  type ServiceName,
} from '@turnpike/config/services';
import { toDrainTimeoutMs } from '@turnpike/http-service/drain';
import { controlPlaneApi } from '@turnpike/internal-api/controlPlane';
import type { Caller, InternalRoute } from '@turnpike/internal-api/internalApi';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import type { z } from 'zod';
import { readConfigSchemas } from '../src/readConfigSchemas.ts';
import { dataOf, environmentOf } from './environmentOf.ts';
import {
  hasKustomize,
  type Rendered,
  renderFolder,
  renderWith,
  type Workload,
  workloadsOf,
} from './renderManifests.ts';

const OVERLAYS = ['overlays/us', 'overlays/eu', 'overlays/local/us', 'overlays/local/eu'];
/** Those of what all regions have together. */
const GLOBAL_OVERLAYS = ['overlays/global', 'overlays/local/global'];
const isGlobal = (overlay: string): boolean => GLOBAL_OVERLAYS.includes(overlay);
const servicesOf = (overlay: string): readonly ServiceName[] => (isGlobal(overlay) ? GLOBAL_SERVICES : REGION_SERVICES);
const databasesOf = (overlay: string) => DATABASE_SERVICES.filter((name) => servicesOf(overlay).includes(name));
/** Closing what was opened, after the listeners: the spool's last events take up to 5 s of it. */
const CLOSING_MS = 15_000;
/** The kubelet keeps five files of 10Mi of a container's logs, and as much again until its next look. */
const LOGS_MEBIBYTES = 100;

const describeWithKustomize = hasKustomize ? describe : describe.skip;
if (!hasKustomize) it('the manifests are not rendered: there is no kustomize', () => {});

let schemas = new Map<ServiceName, z.ZodObject>();
let rendered: Map<string, Rendered[]>;
beforeAll(async () => {
  schemas = await readConfigSchemas();
  rendered = new Map(
    hasKustomize ? [...OVERLAYS, ...GLOBAL_OVERLAYS].map((overlay) => [overlay, renderWhole(overlay)]) : [],
  );
});

/** A spool outlives a pod. */
const kindOf = (name: ServiceName): string =>
  'SPOOL_DIR' in (schemas.get(name)?.shape ?? {}) ? 'StatefulSet' : 'Deployment';
/** On a cluster of its own a region's migrations are a folder apart. */
const hasMigrationsApart = (overlay: string): boolean => !overlay.startsWith('overlays/local/');
const renderWhole = (overlay: string): Rendered[] => [
  ...renderFolder(overlay),
  ...(hasMigrationsApart(overlay) ? renderFolder(`${overlay}/migrations`) : []),
];
const manifestsOf = (overlay: string): Rendered[] => rendered.get(overlay) ?? [];
const scopeOf = (overlay: string): string => overlay.slice(overlay.lastIndexOf('/') + 1);
function workloadOf(name: string, overlay: string): Workload {
  const found = workloadsOf(manifestsOf(overlay)).find((workload) => workload.name === name);
  if (!found) throw new Error(`${overlay} has no workload ${name}`);
  return found;
}

/** Returns the settings of a service's container, read through the service's own schema. */
function configOf(name: ServiceName, overlay: string, manifests = manifestsOf(overlay)): Record<string, unknown> {
  const schema = schemas.get(name);
  const container = workloadsOf(manifests).find((workload) => workload.name === name)?.pod.containers[0];
  if (!schema || !container) throw new Error(`${overlay} has no ${name}`);
  return loadConfig(name, schema, environmentOf(container, manifests));
}

const README = readFileSync(join(repositoryRoot, 'k8s/README.md'), 'utf8');

describeWithKustomize.each(REGIONS)('overlays/%s', (region) => {
  it('has the placeholders that k8s/README.md tells to replace, and no other example address', () => {
    const documented = [...README.matchAll(/^ +\| `([^`]+)` \|/gm)].map(([, name = '']) =>
      name.replace('.us.', `.${region}.`),
    );
    const text = JSON.stringify(manifestsOf(`overlays/${region}`));
    const found = text.match(/[\w.-]+\.example\b|192\.0\.2\.\d+/g) ?? [];
    expect([...new Set(found)].sort()).toEqual(documented.sort());
  });
});

describeWithKustomize.each([...OVERLAYS, ...GLOBAL_OVERLAYS])('%s', (overlay) => {
  it('has every service, of the kind that keeps what the service keeps', () => {
    const kinds = servicesOf(overlay).map((name) => [name, workloadOf(name, overlay).kind]);
    const expected = servicesOf(overlay).map((name) => [name, kindOf(name)]);
    expect(kinds).toEqual(expected);
  });

  it.each(servicesOf(overlay))('tells %s what its own schema takes, and nothing that it does not know', (name) => {
    const manifests = manifestsOf(overlay);
    const { containers } = workloadOf(name, overlay).pod;
    expect(containers).toHaveLength(1);
    const [container] = containers;
    if (!container) throw new Error('no container');
    expect(configOf(name, overlay)).toMatchObject({
      ...(!isGlobal(overlay) && { REGION: scopeOf(overlay) }),
      LISTEN_HOST: '0.0.0.0',
      PORT: 8080,
      INTERNAL_PORT: 9090,
    });
    const known = [...Object.keys(schemas.get(name)?.shape ?? {}), 'NODE_OPTIONS'];
    expect(Object.keys(environmentOf(container, manifests)).filter((variable) => !known.includes(variable))).toEqual(
      [],
    );
    expect(container.ports).toEqual([
      { name: 'http', containerPort: 8080 },
      ...(name === 'edge' ? [{ name: 'console', containerPort: 8081 }] : []),
      { name: 'internal', containerPort: 9090 },
    ]);
  });

  it.each(servicesOf(overlay))(
    'leads %s to whom it calls: the edge to public listeners, its console and others to internal ones',
    (name) => {
      const config = configOf(name, overlay);
      const addresses = Object.entries(config).filter(([key]) =>
        /^(AUTH|CATALOG|ROUTER|MEDIA|LEDGER|CONTROL_PLANE)_(INTERNAL_)?URL$/.test(key),
      );
      // On one's own machine the account layer is in the same cluster.
      const feed = overlay.startsWith('overlays/local/')
        ? 'http://control-plane.turnpike-global:9090'
        : 'https://feed.turnpike.example';
      const expected = entryOf(name).calls.map((callee) => {
        const { settings, scope } = entryOf(callee);
        if (scope === 'global') return [`${settings}_INTERNAL_URL`, feed];
        return name === 'edge'
          ? [`${settings}_URL`, `http://${callee}:8080`]
          : [`${settings}_INTERNAL_URL`, `http://${callee}:9090`];
      });
      const console = (entryOf(name).consoleCalls ?? []).map((callee) => [
        `${entryOf(callee).settings}_INTERNAL_URL`,
        `http://${callee}:9090`,
      ]);
      expect(addresses.sort()).toEqual([...expected, ...console].sort());
    },
  );

  it.each(servicesOf(overlay))('waits for %s to end for longer than it may take', (name) => {
    const config = configOf(name, overlay);
    const longestAnswerMs = longestAnswerOf(name, config);
    const settleMs = Number(config.DRAIN_SETTLE_MS);
    const needsMs = toDrainTimeoutMs({ settleMs, ...(longestAnswerMs && { longestAnswerMs }) }) + CLOSING_MS;
    const { terminationGracePeriodSeconds = 30 } = workloadOf(name, overlay).pod;
    expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThanOrEqual(needsMs);
  });

  it('restricts every container as the profile asks, and its root cannot be written', () => {
    const workloads = workloadsOf(manifestsOf(overlay));
    expect(workloads.length).toBeGreaterThanOrEqual(servicesOf(overlay).length + databasesOf(overlay).length);
    for (const { name, pod } of workloads) {
      expect({ name, is: pod.securityContext }).toEqual({
        name,
        is: expect.objectContaining({
          runAsNonRoot: true,
          runAsUser: 65_532,
          seccompProfile: { type: 'RuntimeDefault' },
        }),
      });
      for (const container of pod.containers) {
        expect({ name, is: container.securityContext }).toEqual({
          name,
          is: {
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
            readOnlyRootFilesystem: true,
          },
        });
        expect(container.volumeMounts).toContainEqual({ name: 'tmp', mountPath: '/tmp' });
      }
    }
  });

  it('gives every workload an account of its own, and the token of one to the router alone', () => {
    const accounts = manifestsOf(overlay).filter(({ kind }) => kind === 'ServiceAccount');
    for (const { automountServiceAccountToken } of accounts) expect(automountServiceAccountToken).toBe(false);
    for (const { name, pod } of workloadsOf(manifestsOf(overlay))) {
      expect(pod.serviceAccountName).toBe(name.replace(/^migrate-/, ''));
      expect(accounts.map(({ metadata }) => metadata.name)).toContain(pod.serviceAccountName);
      expect({ name, token: pod.automountServiceAccountToken }).toEqual({ name, token: name === 'model-router' });
      expect({ name, links: pod.enableServiceLinks }).toEqual({ name, links: false });
    }
    const rules = manifestsOf(overlay)
      .filter(({ kind }) => /Role$/.test(kind))
      .map(({ kind, rules }) => ({ kind, rules }));
    const ofRouters = {
      kind: 'Role',
      rules: [{ apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list'] }],
    };
    expect(rules).toEqual(isGlobal(overlay) ? [] : [ofRouters]);
  });

  it('bounds memory, disk and not processor time, with room beside the heap', () => {
    for (const { name, pod } of workloadsOf(manifestsOf(overlay))) {
      for (const { resources, env = [] } of pod.containers) {
        const keys = Object.keys(resources.limits ?? {}).sort();
        expect({ name, keys }).toEqual({ name, keys: ['ephemeral-storage', 'memory'] });
        expect(Object.keys(resources.requests ?? {}).sort()).toEqual(['cpu', 'ephemeral-storage', 'memory']);
        const heap = env
          .find((variable) => variable.name === 'NODE_OPTIONS')
          ?.value?.match(/--max-old-space-size=(\d+)/)?.[1];
        if (servicesOf(overlay).some((service) => service === name)) expect(Number(heap)).toBeGreaterThan(0);
        expect(Number(heap ?? 0)).toBeLessThanOrEqual(0.7 * toMebibytes(resources.limits?.memory ?? ''));
      }
    }
  });

  it('gives each pod as much disk as its volumes may fill, and its logs', () => {
    for (const { name, pod } of workloadsOf(manifestsOf(overlay))) {
      const volumes = (pod.volumes ?? []).map(({ emptyDir }) => toMebibytes(emptyDir?.sizeLimit ?? '0Mi'));
      const limits = pod.containers.map(({ resources }) => toMebibytes(resources.limits?.['ephemeral-storage'] ?? ''));
      const room = sumOf(limits) - sumOf(volumes) - pod.containers.length * LOGS_MEBIBYTES;
      expect({ name, hasRoom: room >= 0 }).toEqual({ name, hasRoom: true });
    }
  });

  it.each(servicesOf(overlay))(
    'tells the Node of %s what the list of services does, as it stands in place of the image',
    (name) => {
      const [container] = workloadOf(name, overlay).pod.containers;
      const { NODE_OPTIONS = '' } = container ? environmentOf(container, manifestsOf(overlay)) : {};
      expect(NODE_OPTIONS.split(' ')).toEqual([expect.any(String), ...(entryOf(name).nodeFlags ?? [])]);
    },
  );

  it('selects exactly one workload by each Service, disruption budget and policy that names one', () => {
    const labels = workloadsOf(manifestsOf(overlay)).map((workload) => workload.labels);
    const selectors = manifestsOf(overlay).filter(({ kind }) => kind === 'Service' || kind === 'PodDisruptionBudget');
    expect(selectors.length).toBeGreaterThanOrEqual(2 * servicesOf(overlay).length);
    for (const { kind, metadata, spec } of selectors) {
      const selector = spec?.selector ?? {};
      const wanted = Object.entries((kind === 'Service' ? selector : selector.matchLabels) ?? {});
      expect(wanted).not.toEqual([]);
      const selected = labels.filter((own) => wanted.every(([label, value]) => own[label] === value));
      expect({ of: `${kind} ${metadata.name}`, selects: selected.length }).toEqual({
        of: `${kind} ${metadata.name}`,
        selects: 1,
      });
    }
  });

  it('has nothing that every pod could be reached by or reach anything by', () => {
    const policies = manifestsOf(overlay).filter(({ kind }) => kind === 'NetworkPolicy');
    const ofAll = policies.filter(({ spec }) => JSON.stringify(spec?.podSelector) === '{}');
    expect(ofAll.map(({ spec }) => spec)).toEqual([{ podSelector: {}, policyTypes: ['Ingress', 'Egress'] }]);
    const labels = workloadsOf(manifestsOf(overlay)).map((workload) => workload.labels);
    for (const { metadata, spec } of policies) {
      for (const rule of [...((spec?.ingress as object[]) ?? []), ...((spec?.egress as object[]) ?? [])]) {
        const { from, to, ports } = rule as { from?: unknown[]; to?: unknown[]; ports?: unknown[] };
        // An empty list, or none, means everybody.
        expect({
          policy: metadata.name,
          peers: (from ?? to ?? []).length > 0,
          ports: (ports ?? []).length > 0,
        }).toEqual({
          policy: metadata.name,
          peers: true,
          ports: true,
        });
      }
    }
    // Every workload has a policy of its own.
    for (const own of labels) {
      const policy = policies.find(({ spec }) => {
        const wanted = Object.entries(
          ((spec?.podSelector ?? {}) as { matchLabels?: Record<string, string> }).matchLabels ?? {},
        );
        return wanted.length > 0 && wanted.every(([label, value]) => own[label] === value);
      });
      expect({ own, hasPolicy: policy !== undefined }).toEqual({ own, hasPolicy: true });
    }
  });

  it('stays in its namespace, which enforces the restricted profile', () => {
    const namespace = `turnpike-${scopeOf(overlay)}`;
    const manifests = manifestsOf(overlay);
    const clusterWide = manifests.filter(({ metadata }) => metadata.namespace === undefined);
    expect([...new Set(clusterWide.map(({ kind }) => kind))].sort()).toEqual(
      overlay.includes('local') || isGlobal(overlay) ? ['Namespace'] : ['Namespace', 'PriorityClass'],
    );
    expect([...new Set(manifests.flatMap(({ metadata }) => metadata.namespace ?? []))]).toEqual([namespace]);
    expect(manifests.find(({ kind }) => kind === 'Namespace')?.metadata).toMatchObject({
      name: namespace,
      labels: { 'pod-security.kubernetes.io/enforce': 'restricted' },
    });
  });
});

describeWithKustomize.each([...OVERLAYS, ...GLOBAL_OVERLAYS].filter(hasMigrationsApart))('%s/migrations', (overlay) => {
  it('has Jobs alone, so that to delete it takes nothing from the services', () => {
    const kinds = renderFolder(`${overlay}/migrations`).map(({ kind }) => kind);
    expect(kinds).toEqual(databasesOf(overlay).map(() => 'Job'));
  });
});

describeWithKustomize.each([...OVERLAYS, ...GLOBAL_OVERLAYS])('%s', (overlay) => {
  it('runs no migration with the services of a release, which may be an older one than the databases are of', () => {
    const jobs = renderFolder(overlay).filter(({ kind }) => kind === 'Job');
    expect(jobs).toHaveLength(hasMigrationsApart(overlay) ? 0 : databasesOf(overlay).length);
  });

  it.each(databasesOf(overlay))('migrates the database of %s, with what its migration reads', (name) => {
    const { pod, labels } = workloadOf(`migrate-${name}`, overlay);
    const [container] = pod.containers;
    if (!container) throw new Error('no container');
    const owner = entryOf(name).database?.owner;
    const environment = environmentOf(container, manifestsOf(overlay));
    expect(Object.keys(environment).sort()).toEqual(['DATABASE_URL', ...(owner ? ['SERVICE_ROLE'] : [])]);
    if (owner) expect(environment.SERVICE_ROLE).toBe(entryOf(name).database?.name);
    expect(container.image).toBe(workloadOf(name, overlay).pod.containers[0]?.image);
    expect(labels).toMatchObject({ 'turnpike/role': 'migration' });
  });
});

describeWithKustomize.each(OVERLAYS)('%s, a region', (overlay) => {
  it('gives the edge and the router the same longest calls', () => {
    const { IMAGES_TIMEOUT_MS, WHOLE_TIMEOUT_MS, STREAM_TIMEOUT_MS } = configOf('edge', overlay);
    expect(configOf('model-router', overlay)).toMatchObject({ IMAGES_TIMEOUT_MS, WHOLE_TIMEOUT_MS, STREAM_TIMEOUT_MS });
  });

  it('scales by what its own namespace shows', () => {
    for (const { kind, metadata, spec = {} } of manifestsOf(overlay)) {
      if (kind !== 'ScaledObject') continue;
      for (const { metadata: asked } of spec.triggers as { metadata: { query: string } }[]) {
        const series = asked.query.match(/\bturnpike_\w+/g) ?? [];
        const namespaces = Array.from(asked.query.matchAll(/\{namespace="([^"]*)"/g), ([, namespace]) => namespace);
        expect(namespaces).toEqual(series.map(() => metadata.namespace));
      }
    }
  });

  it('has one event log for all that read or write it', () => {
    const [first, ...others] = REGION_SERVICES.filter((name) => entryOf(name).eventLog).map(
      (name) => configOf(name, overlay).KAFKA_BROKERS,
    );
    expect(others).toEqual([first, first]);
  });

  it('mentions nothing of another region, but in the catalog, whose models say where they may run', () => {
    const other = scopeOf(overlay) === 'us' ? 'eu' : 'us';
    // Alerts and dashboards are the same in every region, and their prose has the word 'us'.
    const ofRegion = manifestsOf(overlay).filter(
      ({ kind, metadata }) =>
        kind !== 'PrometheusRule' && !['catalog-file', 'turnpike-dashboards'].includes(metadata.name),
    );
    const text = JSON.stringify(ofRegion);
    // The region as a word of a name or address: us-east-1 is what any S3 server calls its own.
    const found = text.replaceAll('us-east-1', '').match(new RegExp(`.{0,30}\\b${other}\\b.{0,30}`));
    expect(found?.[0]).toBeUndefined();
  });

  it('mounts the files that the services are told of', () => {
    const files = [
      ['catalog', 'CATALOG_FILE', 'catalog-file'],
      ['model-router', 'ENGINES_FILE', 'engines-file'],
      ['media-jobs', 'MEDIA_BACKENDS_FILE', 'media-backends-file'],
    ] as const;
    for (const [service, variable, configMap] of files) {
      const path = String(configOf(service, overlay)[variable]);
      const { containers, volumes = [] } = workloadOf(service, overlay).pod;
      const mount = containers[0]?.volumeMounts?.find(({ mountPath }) => path.startsWith(`${mountPath}/`));
      expect(volumes.find(({ name }) => name === mount?.name)?.configMap?.name).toBe(configMap);
      expect(Object.keys(dataOf(configMap, manifestsOf(overlay)))).toEqual([
        path.slice((mount?.mountPath.length ?? 0) + 1),
      ]);
    }
  });

  it('keeps spools on a volume of their own', () => {
    for (const service of ['model-router', 'media-jobs'] as const) {
      const { pod, manifest } = workloadOf(service, overlay);
      const mount = pod.containers[0]?.volumeMounts?.find(({ name }) => name === 'spool');
      expect(manifest.spec?.volumeClaimTemplates?.map(({ metadata }) => metadata.name)).toEqual(['spool']);
      // A folder in it: the volume's own may have a lost+found.
      expect(configOf(service, overlay).SPOOL_DIR).toBe(`${mount?.mountPath}/spool`);
    }
  });
});

it.each(GLOBAL_OVERLAYS)('%s names a region only in addresses for browsers', (overlay) => {
  const manifests = manifestsOf(overlay).filter(({ metadata }) => !metadata.name.endsWith('-dashboard'));
  const text = JSON.stringify(manifests, (name, value) => (name === 'REGION_HOSTS' ? undefined : value));
  for (const region of REGIONS) expect(text).not.toMatch(new RegExp(`turnpike-${region}|REGION=|\\.${region}\\.`));
});

describeWithKustomize('overlays/global', () => {
  it('lets browsers in by the host of the account layer, and regions to the routes that their services call', () => {
    const manifests = manifestsOf('overlays/global');
    const routes = manifests
      .filter(({ kind }) => kind === 'HTTPRoute')
      .map(({ spec }) => spec as Record<string, unknown>);
    const { ACCOUNT_ORIGIN: origin } = configOf('control-plane', 'overlays/global');
    const matches = Object.values<InternalRoute>(controlPlaneApi.routes)
      .filter(({ callers }) => callers.some((caller: Caller) => caller !== 'operator'))
      .map(({ method, path }) => ({
        method,
        path: path.includes('/:')
          ? { type: 'PathPrefix', value: path.slice(0, path.indexOf('/:')) }
          : { type: 'Exact', value: path },
      }));
    expect(matches).toContainEqual({ method: 'GET', path: { type: 'Exact', value: '/internal/feed' } });
    expect(routes).toMatchObject([
      { hostnames: [new URL(String(origin)).host], rules: [{ backendRefs: [{ name: 'control-plane', port: 8080 }] }] },
      {
        hostnames: ['feed.turnpike.example'],
        rules: [{ matches, backendRefs: [{ name: 'control-plane', port: 9090 }] }],
      },
    ]);
    const policy = manifests.find(({ metadata }) => metadata.name === 'gateway-to-control-plane');
    expect(JSON.stringify(policy?.spec?.ingress)).toMatch(/"kubernetes.io\/metadata.name":"gateway".*8080.*9090/);
    expect(configOf('control-plane', 'overlays/global').TRUSTED_HOPS).toBe(1);
  });

  it.each(REGIONS)('sends browsers and clients to the hosts of %s', (region) => {
    const overlay = `overlays/${region}`;
    const route = manifestsOf(overlay).find(
      ({ kind, metadata }) => kind === 'HTTPRoute' && metadata.name === 'console',
    );
    const [host = ''] = (route?.spec?.hostnames ?? []) as string[];
    const { REGION_HOSTS: hosts, ACCOUNT_ORIGIN: origin } = configOf('control-plane', 'overlays/global');
    expect(hosts).toMatchObject({
      [region]: {
        console_url: `https://${host}`,
        base_url: `${configOf('media-jobs', overlay).PUBLIC_URL}/v1`,
      },
    });
    expect(configOf('edge', overlay).CONSOLE_ALLOWED_ORIGIN).toBe(origin);
  });
});

describeWithKustomize("the account layer of one's own machine", () => {
  const overlay = 'overlays/local/global';
  const specOf = (name: string, place: string) =>
    manifestsOf(place).find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name)?.spec;
  const followers = {
    matchExpressions: [{ key: 'app.kubernetes.io/name', operator: 'In', values: ['auth', 'usage-ledger'] }],
  };

  it.each(REGIONS)('gives its feed to those services of %s that follow it, and to nothing else', (region) => {
    const place = `overlays/local/${region}`;
    const following = REGION_SERVICES.filter((name) =>
      entryOf(name).calls.some((callee) => entryOf(callee).scope === 'global'),
    );
    expect(following).toEqual(followers.matchExpressions[0]?.values);
    const ports = [{ protocol: 'TCP', port: 9090 }];
    const label = { 'turnpike/scope': 'region' };
    expect(manifestsOf(place).find(({ kind }) => kind === 'Namespace')?.metadata.labels).toMatchObject(label);
    expect(specOf('regions-to-control-plane', overlay)).toEqual({
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'control-plane' } },
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ namespaceSelector: { matchLabels: label }, podSelector: followers }], ports }],
    });
    const namespace = { matchLabels: { 'kubernetes.io/metadata.name': 'turnpike-global' } };
    const podSelector = { matchLabels: { 'app.kubernetes.io/name': 'control-plane' } };
    expect(specOf('to-account-layer', place)).toEqual({
      podSelector: followers,
      policyTypes: ['Egress'],
      egress: [{ to: [{ namespaceSelector: namespace, podSelector }], ports }],
    });
    const [scope] = manifestsOf(overlay).filter(({ kind }) => kind === 'Namespace');
    expect(scope?.metadata.labels).not.toMatchObject(label);
  });

  it.each(REGIONS)(
    'is the one whose pages the console host of %s serves, with credit for a first workspace',
    (region) => {
      const { ACCOUNT_ORIGIN: origin, ...config } = configOf('control-plane', overlay);
      expect(configOf('edge', `overlays/local/${region}`).CONSOLE_ALLOWED_ORIGIN).toBe(origin);
      expect(Object.keys(config.REGION_HOSTS as object)).toContain(region);
      expect(config.WELCOME_CREDIT_NANO_USD).toBeGreaterThan(0n);
    },
  );

  it('sends mails to the catcher, which nothing else reaches', () => {
    const [container] = workloadOf('mail-catcher', overlay).pod.containers;
    const port = container?.ports?.find(({ name }) => name === 'smtp')?.containerPort;
    expect(container?.env).toContainEqual({ name: 'SMTP_PORT', value: String(port) });
    const ports = [{ protocol: 'TCP', port }];
    const of = (name: string) => ({ podSelector: { matchLabels: { 'app.kubernetes.io/name': name } } });
    expect(specOf('mail-catcher', overlay)?.ingress).toEqual([{ from: [of('control-plane')], ports }]);
    expect(specOf('control-plane-to-mail-catcher', overlay)).toMatchObject({
      ...of('control-plane'),
      egress: [{ to: [of('mail-catcher')], ports }],
    });
  });

  it('pays at the simulator, which calls back, and copies invoices into a bucket, and nothing else reaches the two', () => {
    const of = (name: string) => ({ podSelector: { matchLabels: { 'app.kubernetes.io/name': name } } });
    const at = (port: number) => [{ protocol: 'TCP', port }];
    const [simulator] = workloadOf('payments-simulator', overlay).pod.containers;
    const [store] = workloadOf('s3', overlay).pod.containers;
    expect(simulator?.env).toContainEqual({ name: 'PORT', value: '8400' });
    expect(store?.env).toContainEqual({ name: 'S3_BUCKET', value: 'media,documents' });
    expect(specOf('payments-simulator', overlay)?.ingress).toEqual([{ from: [of('control-plane')], ports: at(8400) }]);
    expect(specOf('s3', overlay)?.ingress).toEqual([{ from: [of('control-plane')], ports: at(8080) }]);
    expect(specOf('control-plane-to-payments', overlay)).toMatchObject({
      ...of('control-plane'),
      ingress: [{ from: [of('payments-simulator')], ports: at(8080) }],
      egress: [
        { to: [of('payments-simulator')], ports: at(8400) },
        { to: [of('s3')], ports: at(8080) },
      ],
    });
  });
});

describeWithKustomize('a region with other components', () => {
  it('listens behind an ingress controller as behind a gateway', () => {
    const behind = renderWith('overlays/local/us', ['components/ingress']);
    expect(configOf('edge', 'ingress', behind).TRUSTED_HOPS).toBe(1);
    expect(configOf('edge', 'overlays/us').TRUSTED_HOPS).toBe(1);
  });

  it('is scaled by processor time where there is no KEDA, each service once', () => {
    const scaled = renderWith('overlays/local/us', ['components/hpa-cpu']);
    expect(targetsOf(scaled, 'HorizontalPodAutoscaler')).toEqual(targetsOf(manifestsOf('overlays/us'), 'ScaledObject'));
    expect(targetsOf(scaled, 'HorizontalPodAutoscaler')).toEqual(
      REGION_SERVICES.map((name) => `${kindOf(name)}/${name}`).sort(),
    );
  });

  it('finds every text engine of the regions under the Service that an engine of k8s/engines makes', () => {
    for (const region of REGIONS) {
      const { engines } = JSON.parse(dataOf('engines-file', manifestsOf(`overlays/${region}`))['engines.json'] ?? '');
      expect(engines.length).toBeGreaterThan(2);
      for (const { discover, model } of engines) {
        const [, namespace, service, port] = /^k8s:\/\/([^/]+)\/([^:]+):(.+)$/.exec(discover) ?? [];
        expect(namespace).toBe(`turnpike-${region}`);
        const made = renderFolder(`engines/${service?.replace('vllm-', '')}`);
        const found = made.find(({ kind, metadata }) => kind === 'Service' && metadata.name === service);
        expect(found?.spec).toMatchObject({ clusterIP: 'None', ports: [{ name: port }] });
        const [engine] = workloadsOf(made);
        expect(engine?.labels).toMatchObject({ ...(found?.spec?.selector as object), 'turnpike/role': 'engine' });
        expect(JSON.stringify(engine?.pod.containers)).toContain(`--served-model-name=${model}`);
      }
    }
  });

  it('asks Prometheus for metrics that there are, of its own namespace', async () => {
    const page = await readFile(join(repositoryRoot, 'docs/metrics.md'), 'utf8');
    for (const region of REGIONS) {
      const queries = manifestsOf(`overlays/${region}`)
        .filter(({ kind }) => kind === 'ScaledObject')
        .flatMap(({ spec }) =>
          ((spec?.triggers ?? []) as { metadata: { query: string } }[]).map(({ metadata }) => metadata.query),
        );
      expect(queries.length).toBeGreaterThanOrEqual(REGION_SERVICES.length);
      for (const query of queries) {
        expect(query).toContain(`{namespace="turnpike-${region}"`);
        for (const [metric] of query.matchAll(/turnpike_\w+/g)) expect(page).toContain(`| \`${metric}\` |`);
      }
    }
  });
});

/** Returns the longest answer by the service's main.ts; undefined if no answer is long. */
function longestAnswerOf(name: ServiceName, config: Record<string, unknown>): number | undefined {
  if (name === 'edge') return toLongestCallMs(config as never);
  if (name === 'model-router') return Number(config.STREAM_TIMEOUT_MS);
  return name === 'media-jobs' ? LONGEST_MEDIA_SILENCE_MS : undefined;
}

const targetsOf = (manifests: Rendered[], kind: string): string[] =>
  manifests
    .filter((manifest) => manifest.kind === kind)
    .map(({ spec }) => spec?.scaleTargetRef as { kind: string; name: string })
    .map((target) => `${target.kind}/${target.name}`)
    .sort();

const sumOf = (numbers: number[]): number => numbers.reduce((sum, number) => sum + number, 0);

function toMebibytes(quantity: string): number {
  const [, number, unit] = /^(\d+)(Mi|Gi)$/.exec(quantity) ?? [];
  if (number === undefined) throw new Error(`${quantity} is no amount of memory`);
  return Number(number) * (unit === 'Gi' ? 1_024 : 1);
}
