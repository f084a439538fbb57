import { runMain } from '@turnpike/lifecycle/runMain';
import { runMigrateWithRights } from '@turnpike/migrations/runMigrate';

const MIGRATIONS = new URL('../prisma/migrations', import.meta.url);
const RIGHTS = new URL('../prisma/rights.sql', import.meta.url);

runMain(() => runMigrateWithRights('usage-ledger', MIGRATIONS, RIGHTS));
