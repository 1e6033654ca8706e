// Dark or light: the system's choice until the reader makes one.
import { useEffect, useState } from 'preact/hooks'

const KEY = 'rubato.theme'
const query = () => matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

function chosen(): string {
  try { return localStorage.getItem(KEY) ?? '' } catch { return '' }
}
export const isDark = () => (chosen() ? chosen() === 'dark' : query().matches)

export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light'
  listeners.forEach((each) => each())
}
export function toggleTheme(): void {
  const next = isDark() ? 'light' : 'dark'
  try { localStorage.setItem(KEY, next) } catch { /* Then it lasts for this page. */ }
  document.documentElement.dataset.theme = next
  listeners.forEach((each) => each())
}

export function useDark(): boolean {
  const [dark, setDark] = useState(isDark())
  useEffect(() => {
    const update = () => setDark(document.documentElement.dataset.theme === 'dark')
    listeners.add(update)
    const system = query()
    system.addEventListener('change', applyTheme)
    return () => {
      listeners.delete(update)
      system.removeEventListener('change', applyTheme)
    }
  }, [])
  return dark
}
