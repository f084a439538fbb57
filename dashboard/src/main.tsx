import './styles.ts';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { queryClient } from './account.ts';
import { router } from './router.tsx';
import { StepUpProvider } from './shell/StepUp.tsx';
import { resolveColors, theme } from './theme.ts';

const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
const root = document.getElementById('root');
if (!root) throw new Error('index.html has no root');

// Begins what the page reads before the first drawing.
void router.load();
createRoot(root).render(
  <MantineProvider
    theme={theme}
    cssVariablesResolver={resolveColors}
    defaultColorScheme="auto"
    getStyleNonce={() => nonce}
  >
    <QueryClientProvider client={queryClient}>
      <StepUpProvider>
        <RouterProvider router={router} />
      </StepUpProvider>
    </QueryClientProvider>
  </MantineProvider>,
);
