"""What the analyst brings: graph, table, correlation, data sets. Checks and scaling, no estimation."""
