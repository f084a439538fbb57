/**
 * The folders of one place in layers: each folder imports those below it and none above or beside it. `.` are the files that
 * lie in the place itself.
 */
function layers(place, levels) {
  return levels.flatMap((level, depth) =>
    level.map((folder) => {
      const isIn = (name) => (name === '.' ? '[^/]+$' : `${name}/`);
      const below = levels.slice(depth + 1).flat();
      return {
        name: `one-way-${place.replace(/^(services|libs)\//, '').replace('/src', '')}-${folder}`,
        comment: `${folder} of ${place} may import ${below.join(', ') || 'none of the others'}.`,
        severity: 'error',
        from: { path: `^${place}/${isIn(folder)}`, pathNot: '[.]test[.]ts$' },
        to: { path: `^${place}/`, pathNot: `^${place}/(${[folder, ...below].map(isIn).join('|')})` },
      };
    }),
  );
}

/** Who may import whom. TypeScript 7 has no compiler API, so swc reads the files. */
module.exports = {
  forbidden: [
    {
      name: 'no-service-imports-another',
      comment: 'Services meet over HTTP and events alone; what two of them need is a lib.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'no-lib-imports-a-service',
      comment: 'A lib knows nothing of who uses it.',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^(services|deploy|docs|test|bench)/' },
    },
    {
      name: 'the-contract-stands-alone',
      comment: 'What clients are promised depends on nothing of ours.',
      severity: 'error',
      from: { path: '^libs/public-api/' },
      to: { path: '^(libs|services|deploy|docs|test|bench)/', pathNot: '^libs/public-api/' },
    },
    {
      name: 'declarations-run-in-a-browser',
      comment:
        'A browser imports the declarations of routes too: nothing of Node, of a server or of a client stands below them.',
      severity: 'error',
      from: {
        path: '^libs/(internal|console)-api/src/((account|console)/)?[^/]+$',
        pathNot: '(/a[A-Z][^/]*|[.]test)[.]ts$',
      },
      to: {
        reachable: true,
        path: [
          '^libs/(internal|console)-api/src/transport/',
          'node_modules/(express|undici|pino)/',
          '^(node:)?(assert|buffer|child_process|cluster|crypto|dns|events|fs|http|http2|https|net|os|path|perf_hooks|process|stream|timers|tls|url|util|worker_threads|zlib)(/|$)',
        ],
      },
    },
    {
      name: 'only-tests-import-deploy',
      comment: 'What runs a stack is no part of the stack.',
      severity: 'error',
      from: {
        pathNot: ['^deploy/', '^test/', '^bench/', '^services/[^/]+/test/', '^dashboard/test/', '[.]test[.]ts$'],
      },
      to: { path: '^deploy/' },
    },
    {
      name: 'nobody-imports-the-docs',
      comment: 'The docs are written from the code, not the code from the docs.',
      severity: 'error',
      from: { pathNot: '^docs/' },
      to: { path: '^docs/' },
    },
    {
      name: 'only-tests-import-test-support',
      comment: 'Nothing that runs in production starts test databases.',
      severity: 'error',
      from: {
        pathNot: [
          '^libs/test-support/',
          '^test/',
          '^bench/',
          '^[^/]+/[^/]+/test/',
          '^dashboard/test/',
          '[.]test[.]ts$',
        ],
      },
      to: { path: '^libs/test-support/' },
    },
    {
      name: 'no-cycles',
      comment: 'Modules that import each other cannot be understood, or tested, apart.',
      severity: 'error',
      from: { pathNot: '/generated/' },
      to: { circular: true, pathNot: '/generated/' },
    },
    ...layers('services/model-router/src', [
      ['.'],
      ['routes'],
      ['answer'],
      ['placement', 'money'],
      ['engines'],
      ['health'],
      ['request'],
      ['catalog'],
      ['api'],
    ]),
    ...layers('services/model-router/src/answer', [['.'], ['operations'], ['chunks'], ['fields']]),
    ...layers('services/model-router/src/engines', [['.'], ['vllm', 'discovery'], ['terms']]),
    {
      name: 'money-knows-no-engine',
      comment: 'A hold depends on the call and the price alone.',
      severity: 'error',
      from: { path: '^services/model-router/src/money/', pathNot: '[.]test[.]ts$' },
      to: { path: '^services/model-router/src/(engines|health)/' },
    },
    ...layers('services/model-router/src/money', [['.'], ['gate', 'call']]),
    ...layers('services/media-jobs/src', [
      ['.'],
      ['routes'],
      ['answer'],
      ['jobs'],
      ['money', 'request'],
      ['media', 'backends'],
      ['catalog'],
      ['api'],
      ['terms'],
    ]),
    ...layers('libs/request-reading/src', [['body'], ['images'], ['shares', 'fields'], ['faults']]),
    ...layers('libs/holds/src', [['.'], ['gate', 'follow'], ['call'], ['balances', 'spool'], ['redis']]),
    ...layers('services/auth/src', [
      ['.'],
      ['routes', 'feed'],
      ['wire', 'router'],
      ['workspaces', 'keys'],
      ['database', 'api'],
    ]),
    ...layers('services/catalog/src', [['.'], ['routes'], ['wire', 'catalog'], ['database', 'api']]),
    ...layers('services/edge/src', [['.'], ['console'], ['proxy', 'flood'], ['api', 'headers'], ['paths']]),
    ...layers('services/control-plane/src', [
      ['.'],
      ['routes', 'pages'],
      ['day-totals'],
      ['billing'],
      ['alerts', 'holds'],
      ['organizations'],
      ['identity'],
      ['mail'],
      ['audit', 'jobs', 'feed', 'ledger', 'rates'],
      ['database'],
    ]),
    ...layers('services/usage-ledger/src', [
      ['.'],
      ['routes'],
      ['wire', 'consumers'],
      ['dead-letters', 'credits', 'day-totals'],
      ['ledger', 'reconcile'],
      ['balances', 'recovery', 'event-log'],
      ['database', 'api'],
    ]),
    {
      name: 'everything-resolves',
      comment: 'An import that leads nowhere fails only when it runs.',
      severity: 'error',
      from: { pathNot: '/generated/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/generated/|^dashboard/dist' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.mjs', '.cjs', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
    moduleSystems: ['es6', 'cjs'],
  },
};
