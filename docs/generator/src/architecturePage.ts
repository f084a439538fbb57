import { join } from 'node:path';
import { formatInternalRoutes } from './internalRoutes.ts';
import { replacePart } from './referencePages.ts';
import { repositoryRoot } from './repositoryRoot.ts';

export const ARCHITECTURE_FILE = join(repositoryRoot, 'docs/architecture.md');

/** The page with the table of internal routes as their declarations say it now, and the rest as it stands. */
export const renderArchitecturePage = (page: string): string =>
  replacePart(page, 'internal routes', formatInternalRoutes());
