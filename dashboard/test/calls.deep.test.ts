// One file, as these share one dashboard.
import './shared-dashboard/usagePage.ts';
import './shared-dashboard/requestsPage.ts';
import './shared-dashboard/jobsPage.ts';
import './shared-dashboard/playgroundPage.ts';
import './shared-dashboard/modelsPage.ts';
