// A job keeps its colour on every page: it follows from its number alone.

const HUES = [226, 162, 32, 280, 196, 340, 100, 12, 250, 180, 50, 310]

export const jobHue = (id: string) => HUES[Number(id) % HUES.length] ?? 226

export interface Paint { fill: string; edge: string; text: string }

export function jobPaint(id: string, dark: boolean, faded = false): Paint {
  const hue = jobHue(id)
  const tone = Math.floor(Number(id) / HUES.length) % 3
  const light = dark ? 46 + 6 * tone : 62 - 6 * tone
  const saturation = dark ? 42 : 52
  return {
    fill: `hsl(${hue} ${saturation}% ${light}% / ${faded ? 0.42 : 1})`,
    edge: `hsl(${hue} ${saturation}% ${dark ? light + 12 : light - 18}%)`,
    text: dark ? '#0f1218' : '#10141c',
  }
}

export type Outcome = 'met' | 'missed' | 'free'
const OUTCOMES: Record<Outcome, [hue: number, saturation: number]> = { met: [212, 58], missed: [24, 72], free: [220, 7] }

/** By what became of a job's deadline; neighbouring jobs differ in shade. */
export function outcomePaint(outcome: Outcome, job: number, dark: boolean): Paint {
  const [hue, saturation] = OUTCOMES[outcome]
  const light = (dark ? 44 : 52) + 6 * ((job * 7) % 5)
  return { fill: `hsl(${hue} ${saturation}% ${light}%)`, edge: `hsl(${hue} ${saturation}% ${light - 18}%)`, text: '#0c1016' }
}
