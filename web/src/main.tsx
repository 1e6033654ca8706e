import 'uplot/dist/uPlot.min.css'
import './style/base.css'
import './style/frame.css'
import './style/parts.css'
import './style/charts.css'
import './style/pages.css'
import './kept'
import { render } from 'preact'
import { App } from './app'
import { applyTheme } from './theme'

applyTheme()
render(<App />, document.getElementById('app')!)
