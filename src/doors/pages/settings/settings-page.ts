/**
 * The settings: name, time zone, password, passkeys, second factor, sessions, end of the account. Rendering
 * only.
 */
import type { SessionId } from '#kernel/ids.ts'
import type { SessionRow } from '#store/ports/sessions.ts'
import type { UserRow } from '#store/ports/users.ts'
import { type Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { alertBox, doneBox, field, hidden } from '../layout.ts'
import { renderAgo, renderMoment } from '../moments.ts'
import { table } from '../table.ts'
import { describeAgent } from './agent-words.ts'
import { type PasskeyListOptions, renderPasskeys } from './passkeys-page.ts'

export type ProfileField = 'name' | 'timezone'
export type PasswordField = 'password' | 'newPassword'

/** What was typed into a form, and what is wrong with it. */
export interface SettingsDraft {
  readonly name: string
  readonly timezone: string
  readonly profile: Readonly<Partial<Record<ProfileField, string>>>
  readonly passwords: Readonly<Partial<Record<PasswordField, string>>>
  /** A problem of the password form as a whole. */
  readonly message: string | null
}

export const settingsDone = {
  saved: 'Saved.',
  password: 'The password is changed. Every other browser is signed out.',
  ended: 'Signed out there.',
  'switched-off': 'The second factor is off: your password alone signs you in.',
  'app-removed': 'The authenticator app is removed. Your passkeys stay.',
  passkey: 'The passkey is added.',
  'passkey-removed': 'The passkey is removed.',
} as const

export interface SettingsOptions extends PasskeyListOptions {
  readonly user: UserRow
  readonly draft: SettingsDraft
  readonly formToken: string
  readonly hasSecondFactor: boolean
  readonly hasApp: boolean
  readonly codesLeft: number
  readonly sessions: readonly SessionRow[]
  /** The session of this browser. */
  readonly own: SessionId
  readonly done: keyof typeof settingsDone | null
}

export function renderSettings(options: SettingsOptions): Html {
  const { done } = options
  return html`<h1>Settings</h1>
${doneBox(done && settingsDone[done])}
<p>Signed in as <strong>${options.user.email}</strong>.</p>
${renderProfile(options)}
${renderPassword(options)}
${renderPasskeys(options)}
${renderFactor(options)}
${renderSessions(options)}
<h2>Your data</h2>
<p class="downloads">${icon('download')}<a href="/settings/download" download>Download everything about you</a> as JSON, without secrets. Your money is not stored here, and the activity has a download of its own.</p>
<h2>Delete account</h2>
<p><a href="/settings/delete">Delete the account</a> with all its keys and connections.</p>`
}

function renderProfile({ draft, user, formToken }: SettingsOptions): Html {
  const { profile } = draft
  return html`<h2>Profile</h2>
<form method="post" action="/settings" novalidate class="narrow">
${hidden('token', formToken)}
${field({ name: 'name', label: 'Name', type: 'text', autocomplete: 'name', value: draft.name, isOptional: true, problem: profile.name, autofocus: profile.name !== undefined })}
${field({ name: 'timezone', label: 'Time zone', type: 'text', autocomplete: 'off', value: draft.timezone, list: 'zones', hint: 'Used for dates here and in the API', problem: profile.timezone, autofocus: profile.timezone !== undefined })}
<datalist id="zones">${Intl.supportedValuesOf('timeZone').map((zone) => html`<option value="${zone}">`)}</datalist>
<button type="submit">Save</button>
</form>
<h2>Money</h2>
<form method="post" action="/settings" class="narrow">
${hidden('token', formToken)}${hidden('choice', 'balances')}
<label><input type="checkbox" name="showBalances" value="true"${user.showsBalances && html` checked`}>Show balances at once</label>
<p>The page <em>Money</em> then reads them from your banks each time you open it. Without this it reads them when you press <em>Show balances</em>.</p>
<button type="submit" class="secondary outline">Apply</button>
</form>`
}

function renderPassword({ draft, formToken }: SettingsOptions): Html {
  const { passwords } = draft
  return html`<h2>Password</h2>
${alertBox(draft.message)}
<form method="post" action="/settings" novalidate class="narrow">
${hidden('token', formToken)}
${field({ name: 'password', label: 'Current password', type: 'password', autocomplete: 'current-password', problem: passwords.password, autofocus: passwords.password !== undefined })}
${field({ name: 'newPassword', label: 'New password', type: 'password', autocomplete: 'new-password', hint: 'At least 10 characters. Every other browser is signed out.', problem: passwords.newPassword, autofocus: passwords.newPassword !== undefined })}
<button type="submit" class="secondary outline">Change the password</button>
</form>`
}

function renderFactor({ hasSecondFactor, hasApp, codesLeft, passkeys }: SettingsOptions): Html {
  const left = codesLeft === 1 ? 'one recovery code is' : html`${codesLeft} recovery codes are`
  const kinds = [...(hasApp ? ['an app'] : []), ...(passkeys.length > 0 ? ['passkeys'] : [])]
  return html`<h2>Second factor</h2>
${hasSecondFactor ? html`<p>It is <strong>on</strong>, with ${kinds.join(' and ')}; ${left} left. <a href="/settings/second-factor">Recovery codes${hasApp ? ', or switch it off' : ' and authenticator app'}</a></p>` : html`<p>It is off: your password alone signs you in. <a href="/settings/second-factor">Set it up</a></p>`}`
}

/** This one and the last seen others; a page stays small. */
const sessionsShown = 25

function renderSessions({ sessions, own, zone, now, formToken }: SettingsOptions): Html {
  const others = sessions.filter(({ id }) => id !== own).slice(0, sessionsShown - 1)
  const shown = sessions.filter((session) => session.id === own || others.includes(session))
  return html`<h2>Signed-in browsers</h2>
${table<SessionRow>(
  'Signed-in browsers',
  [
    {
      name: 'Browser',
      show: ({ agent, address }) =>
        html`<span class="foreign">${describeAgent(agent)}</span> <small class="place">${address ?? 'Unknown address'}</small>`,
    },
    { name: 'Signed in', show: ({ signedInAt }) => renderMoment(signedInAt, zone) },
    { name: 'Last seen', show: ({ lastSeenAt }) => renderAgo(lastSeenAt, zone, now) },
    {
      name: 'Sign out',
      isPlain: true,
      show: (session) =>
        session.id === own ? html`<strong>this browser</strong>` : renderEnd(session, formToken),
    },
  ],
  shown,
)}
${sessions.length > shown.length && html`<p>And ${sessions.length - shown.length} more that were seen earlier.</p>`}
${sessions.length > 1 && html`<form method="post" action="/settings/sessions/end-others" class="narrow">${hidden('token', formToken)}<button type="submit" class="secondary outline">Sign out everywhere else</button></form>`}`
}

function renderEnd({ id, agent, address }: SessionRow, formToken: string): Html {
  return html`<form method="post" action="/settings/sessions/end">${hidden('token', formToken)}${hidden('session', id)}<button type="submit" class="outline secondary" aria-label="Sign out ${describeAgent(agent)}${address !== null && html`, ${address}`}">Sign out</button></form>`
}
