/** The rooms of a service, each with those that it may import; what lies beside them, `main.ts` and routes, may import all. */
function roomRules(service, rooms) {
  return Object.entries(rooms).map(([room, below]) => ({
    name: `rooms-one-way-${room}`,
    comment: `Within ${service}/src, ${room} imports ${below.length === 0 ? 'no other room' : below.join(', ')} alone.`,
    severity: 'error',
    from: { path: `^${service}/src/${room}/`, pathNot: '[.]test[.]ts$' },
    to: { path: `^${service}/src/`, pathNot: `^${service}/src/(${[room, ...below].join('|')})/` },
  }));
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
      name: 'only-tests-import-deploy',
      comment: 'What runs a stack is no part of the stack.',
      severity: 'error',
      from: { pathNot: ['^deploy/', '^test/', '^bench/', '^services/[^/]+/test/', '[.]test[.]ts$'] },
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
      from: { pathNot: ['^libs/test-support/', '^test/', '^bench/', '^[^/]+/[^/]+/test/', '[.]test[.]ts$'] },
      to: { path: '^libs/test-support/' },
    },
    {
      name: 'no-cycles',
      comment: 'Modules that import each other cannot be understood, or tested, apart.',
      severity: 'error',
      from: { pathNot: '/generated/' },
      to: { circular: true, pathNot: '/generated/' },
    },
    {
      name: 'no-folder-cycles',
      comment: 'Folders that import each other are one folder: nobody can read, or take over, one of them alone.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^(services|libs)/[^/]+/src', pathNot: '/generated/' },
      to: { circular: true },
    },
    ...roomRules('services/model-router', {
      api: [],
      catalog: ['api'],
      request: ['catalog', 'api'],
      money: ['request', 'catalog', 'api'],
      fleet: ['request', 'catalog', 'api'],
      answer: ['money', 'fleet', 'request', 'catalog', 'api'],
    }),
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
    exclude: { path: '/generated/' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.mjs', '.cjs', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
    moduleSystems: ['es6', 'cjs'],
  },
};
