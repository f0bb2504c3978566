"""Every sentence about a result, once: functions from typed values to text.

Text, Markdown, HTML, SARIF and JUnit render the same sentences. A `Style` says how a format writes
names, code and figures.
"""
