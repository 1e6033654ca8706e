// Asks for a token when the platform wants one.
import { useState } from 'preact/hooks'
import { ApiError, get, setToken } from '../api'
import { Field, Logo } from '../parts'
import type { Me } from '../types'

export function Login(props: { onDone: (me: Me) => void }) {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setProblem('')
    setToken(text.trim())
    try {
      props.onDone(await get<Me>('/v1/me'))
    } catch (error) {
      setToken('')
      setProblem((error as ApiError).status === 401 ? 'This token is not known here.' : (error as Error).message)
    }
    setBusy(false)
  }
  return (
    <main class="login">
      <form class="card" onSubmit={submit}>
        <Logo size={40} />
        <h1>Rubato</h1>
        <p class="muted">This platform asks for a token. It is kept in this tab until you close it, and never becomes part of an address.</p>
        <Field label="Token" error={problem}>
          {(id, described) => (
            <input id={id} type="password" autoComplete="off" value={text} aria-describedby={described} aria-invalid={!!problem} onInput={(event) => setText(event.currentTarget.value)} />
          )}
        </Field>
        {problem && <p class="sr-only" role="alert">{problem}</p>}
        <button class="primary" disabled={!text.trim() || isBusy}>Sign in</button>
      </form>
    </main>
  )
}
