import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { ACCOUNT_OPENAPI_FILE, renderAccountOpenApi } from './accountDocument.ts';
import { CONSOLE_OPENAPI_FILE, renderConsoleOpenApi } from './consoleDocument.ts';

describe.each([
  ['the account layer', ACCOUNT_OPENAPI_FILE, renderAccountOpenApi],
  ['the console host', CONSOLE_OPENAPI_FILE, renderConsoleOpenApi],
])('the document of %s', (_api, file, render) => {
  it('is what is served; if this fails: npm run docs', async () => {
    expect(await readFile(file, 'utf8')).toBe(render());
  });

  it('is a valid OpenAPI 3.1 document', async () => {
    const validator = new Validator();
    expect(await validator.validate(JSON.parse(render()))).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });
});
