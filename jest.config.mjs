/** Tests run from source: TypeScript's types are stripped by swc, modules stay ES modules. */
export default {
  // Not the data of local stacks, which lies in the repository too.
  roots: ['<rootDir>/services', '<rootDir>/libs', '<rootDir>/deploy', '<rootDir>/test'],
  testMatch: ['<rootDir>/{services,libs,deploy}/*/{src,test}/**/*.test.ts', '<rootDir>/test/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } },
    ],
  },
  testTimeout: 30_000,
  watchman: false,
};
