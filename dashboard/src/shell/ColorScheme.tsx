import { Button, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';

/** Changes between light and dark. Before the first click the page follows the system. */
export function ColorScheme() {
  const scheme = useComputedColorScheme('light');
  const { setColorScheme } = useMantineColorScheme();
  const other = scheme === 'light' ? 'dark' : 'light';
  return (
    <Button
      size="xs"
      variant="default"
      aria-label={other === 'dark' ? 'Dark mode' : 'Light mode'}
      onClick={() => setColorScheme(other)}
    >
      {other === 'dark' ? 'Dark' : 'Light'}
    </Button>
  );
}
