import { runMain } from '@turnpike/lifecycle/runMain';
import { runMigrate } from '@turnpike/postgres/runMigrate';

runMain(() => runMigrate('usage-ledger', new URL('../sql/', import.meta.url)));
