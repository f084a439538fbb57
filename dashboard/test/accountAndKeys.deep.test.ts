// One file, as these share one dashboard.
import './shared-dashboard/accountPages.ts';
import './shared-dashboard/keyPages.ts';
import './shared-dashboard/workspacePages.ts';
import './shared-dashboard/looks.ts';
