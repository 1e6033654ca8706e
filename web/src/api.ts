// Calls of the REST interface. The token lives in this tab's session alone, never in an address.

import { kept, keptAnswer } from './kept'

export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly field = '', readonly suggestion = '') {
    super(message)
  }
}

const KEY = 'rubato.token'
let token = readToken()
let onUnauthorized = () => {}

function readToken(): string {
  try { return sessionStorage.getItem(KEY) ?? '' } catch { return '' }
}

export function setToken(value: string): void {
  token = value
  try {
    if (value) sessionStorage.setItem(KEY, value)
    else sessionStorage.removeItem(KEY)
  } catch { /* Without storage it lasts until the page is left. */ }
}
export const hasToken = () => token !== ''
export function whenUnauthorized(handler: () => void): void { onUnauthorized = handler }

export function headers(more: Record<string, string> = {}): Record<string, string> {
  return token ? { Authorization: `Bearer ${token}`, ...more } : more
}

async function failure(reply: Response): Promise<ApiError> {
  let detail = `${reply.status} ${reply.statusText}`
  let field = ''
  let suggestion = ''
  try {
    const problem = await reply.json()
    detail = problem.detail || problem.title || detail
    field = problem.field ?? ''
    suggestion = problem.suggestion ?? ''
  } catch { /* Not one of ours. */ }
  return new ApiError(reply.status, detail, field, suggestion)
}

/** The answer to a request; throws ApiError, with status 0 when nobody answers. */
export async function open(path: string, init: RequestInit = {}): Promise<Response> {
  let reply: Response
  try {
    reply = await fetch(path, { ...init, headers: headers(init.headers as Record<string, string>), cache: 'no-store' })
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    throw new ApiError(0, 'The platform does not answer.')
  }
  if (reply.status === 401) onUnauthorized()
  if (!reply.ok) throw await failure(reply)
  return reply
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  if (kept) return keptAnswer(path) as T
  return (await open(path, { signal })).json()
}

export async function send<T>(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<T> {
  const reply = await open(path, {
    method,
    headers: body === undefined ? more : { 'Content-Type': 'application/json', ...more },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  return reply.json()
}

export const segment = (text: string) => encodeURIComponent(text)
