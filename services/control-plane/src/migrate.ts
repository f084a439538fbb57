import { runMain } from '@turnpike/lifecycle/runMain';
import { runMigrate } from '@turnpike/postgres/runMigrate';

runMain(() => runMigrate('control-plane', new URL('../sql/', import.meta.url)));
