import { join } from 'node:path';
import { CHAT_REFUSALS, CHAT_ROUTE } from '@turnpike/console-api/chatRoute';
import { type AnyConsoleRoute, HOST_REFUSALS, MEMBER_REFUSALS } from '@turnpike/console-api/console/consoleRoute';
import { CONSOLE_APIS } from '@turnpike/console-api/consoleApi';
import { repositoryRoot } from '../repositoryRoot.ts';
import { type DescribedRoute, renderBrowserDocument, toHeader } from './browserDocument.ts';

export const CONSOLE_OPENAPI_FILE = join(repositoryRoot, 'docs/console-openapi.json');

const DESCRIPTION = [
  'The console host of a region, for the pages of the account layer. It serves their origin alone, with CORS and without cookies.',
  'A console token of the account layer names the user, the workspace and the role for 5 minutes (`createConsoleToken` there).',
  'An `OPTIONS` request to any path here is answered with 204, without a token. A request that is no well-formed HTTP gets 400.',
  'Branch on the status and on `error`. The messages are for people and may change.',
].join('\n\n');

/** Writes the interface description of a console host, from the declarations that the services behind it serve. */
export const renderConsoleOpenApi = (): string =>
  renderBrowserDocument({
    title: 'Turnpike console',
    description: DESCRIPTION,
    server: {
      url: '{console_url}',
      description: 'The console host of the region of the workspace.',
      variables: {
        console_url: { default: 'http://127.0.0.1:8107', description: 'Address of the host, without a path.' },
      },
    },
    securitySchemes: { console: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    routes: [
      ...CONSOLE_APIS.flatMap(({ routes }) => Object.entries<AnyConsoleRoute>(routes).map(describeRoute)),
      describeRoute(['chat', { ...CHAT_ROUTE, faults: CHAT_REFUSALS }]),
    ],
  });

const { invalid_console_token, not_found, ...OF_EVERY_ROUTE } = HOST_REFUSALS;
const { right_missing } = MEMBER_REFUSALS;

function describeRoute([name, route]: [string, AnyConsoleRoute]): DescribedRoute {
  if (route.access)
    return {
      name,
      route,
      description: 'For anyone.',
      security: [],
      headers: { 'cache-control': toHeader(`\`public, max-age=${route.maxAgeSeconds}\`.`) },
      refusals: OF_EVERY_ROUTE,
    };
  return {
    name,
    route,
    description: `For members of the workspace whose role has the right \`${route.right}\`.`,
    security: [{ console: [] }],
    refusals: { ...OF_EVERY_ROUTE, invalid_console_token, right_missing },
  };
}
