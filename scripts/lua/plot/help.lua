--!plain
-- Help texts of plots; their form: scripts/lua/help/topics.lua.
return [==[
plot (see hist, heatmap, imshow)
    Lines in the terminal: plot(y), or plot{x, y1, y2, …}; in pixels where it knows kitty's protocol
    or sixel. png = "file.png" writes a picture, of 640 x 400 pixels if width and height do not say
    otherwise. Options may stand in the first table: plot{x, y, title = "loss"}.
    options: title: text above; xlabel: text below the x axis; ylabel: text beside the y axis;
        legend: a name for each line; xlim: {least, largest} x that is shown; ylim: {least, largest}
        y; xlog: true for a logarithmic x axis; ylog: true for a logarithmic y axis; style: 'lines'
        or 'points'; width: columns, or pixels; height: rows, or pixels; png: file to write; text:
        return the text
    shapes: vectors or lists of numbers, all of the same length
    waits: for the elements
hist (see plot, histc)
    A histogram: how many elements fall into each of bins = 16 equal intervals, as bars; png =
    "file.png" writes a picture.
    options: bins: number of intervals; title: text above; xlabel: text below the x axis; ylabel:
        text beside the y axis; width: columns, or pixels; height: rows, or pixels; png: file to
        write; text: return the text
    waits: for the elements
heatmap (see imshow, plot)
    A matrix in colours, from its smallest to its largest number; as a picture with a colour bar.
    NaN is grey.
    options: title: text above; xlabel: text below the columns; ylabel: text beside the rows; width:
        columns, or pixels for the cells; height: rows, or pixels for the cells; png: file to write;
        text: return the text
    shapes: rows x columns
    waits: for the elements
imshow (see image, heatmap)
    A picture: bytes, or floats from 0 to 1. A terminal that knows kitty's protocol or sixel shows
    it in pixels, a small one enlarged; a file gets it unchanged.
    options: width: columns; height: rows; png: file to write; text: return the text
    shapes: h x w, 3 x h x w or h x w x 3
    waits: for the elements
]==]
